#pragma once

#include "Core/Compute/DeviceMemory.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Phase.h"
#include "Core/Registration/Transform.h"

#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// How result images are named and written.
struct ResultImageSettings {
  std::string name = "result"; // stem of the file
  std::string format = "mhd";  // its ending
  std::string pixelType = "short";
  bool compress = false;
};

/// An image that is to be brought to another grid.
template <int D>
struct ResampleSource {
  const Interpolator<D>* interpolator = nullptr; // prepared for it
  MaskPointer<D> valid; // where T(x) falls on a voxel outside of it, it is outside the image; null: all voxels are valid
};

/// Layers of the last axis of a grid; those beyond its end do not count.
struct LayerRange {
  std::size_t first = 0, count = std::numeric_limits<std::size_t>::max();
};

/// Layers of a grid as a grid of their own, and as voxels [begin, end) of the whole.
template <int D>
struct GridLayers {
  ImageGeometry<D> geometry;
  std::size_t begin, end;

  GridLayers(const ImageGeometry<D>& grid, const LayerRange&);
};

/// Brings moving images to the fixed grid, and knows which results a parameter text asks for.
template <int D>
class Resampler {
public:
  static constexpr const char* roleName = "Resampler";
  virtual ~Resampler() = default;

  /// The values of every source at T(x) for the voxels x in some layers of `output`; T(x) is computed once for all of them.
  /// values[s] holds as many as these layers have voxels, x fastest, in the host's memory. In float, not yet rounded. A voxel has
  /// the same bits whichever layers are asked for.
  virtual void resampleInto(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>, const ImageGeometry<D>& output,
                            const LayerRange&, std::span<float* const> values) const = 0;
  /// What the parts of one more resampling took, all layers.
  virtual std::vector<Phase> timePhases(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                                        const ImageGeometry<D>& output, std::span<float* const> values) const = 0;

  /// What that takes of a CUDA device for one moving image, with preparing its interpolator.
  virtual DeviceMemory deviceMemory(const TransformChain<D>&, const ImageGeometry<D>& moving, bool hasInvalidVoxels,
                                    const ImageGeometry<D>& output) const = 0;

  /// The same as images of those layers. Throws Error(outOfMemory).
  std::vector<Image<D>> resample(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                                 const ImageGeometry<D>& output, const LayerRange& = {}) const;
  Image<D> resample(Context&, const TransformChain<D>&, const ResampleSource<D>&, const ImageGeometry<D>& output) const;

  /// Of voxels that are mapped outside the moving image.
  virtual double outsideValue() const = 0;
  virtual const ResultImageSettings& resultImage() const = 0;
  virtual bool writesFinalResult() const = 0;
  virtual bool writesResultAfterLevel(std::size_t level) const = 0;
  virtual bool writesResultAfterIterations(std::size_t level) const = 0;
  /// Lines of a transform parameter file, by which a later program resamples in the same way.
  virtual std::vector<FileEntry> fileEntries() const = 0;
};

}
