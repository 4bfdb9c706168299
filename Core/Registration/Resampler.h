#pragma once

#include "Core/Compute/DeviceMemory.h"
#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Image/Slices/SliceWindowOnCuda.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Phase.h"
#include "Core/Registration/Transform.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
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
  const Interpolator<D>* interpolator = nullptr; // prepared for it; on the CPU if it comes in slices
  MaskPointer<D>
      valid; // where T(x) falls on a voxel outside of it, it is outside the image; null: all voxels are valid
  std::shared_ptr<SliceWindowOnCuda<D>> inSlices =
      {}; // of which a CUDA device has some at a time; null: it has all
};

/// How much of an image a CUDA device can have at a time.
struct SlicesThatFit {
  std::size_t atOnce = 0; // of the last axis; 0: it must be there as a whole
  std::string whyNot;     // then: "the coefficients of splines ..."
};

/// Slices of the last axis of a grid; those beyond its end do not count.
struct SliceRange {
  std::size_t first = 0, count = std::numeric_limits<std::size_t>::max();
};

/// Which slices of a moving image some slices of a result may be made of.
struct SlicesAskedFor {
  std::function<SliceRange(const SliceRange& ofOutput)> by; // empty: it must be in memory as a whole
  std::string whyNot;                                       // then: "the coefficients of splines ..."
};

/// Where the voxels of a result go, x fastest, in the host's memory.
struct PixelsOut {
  std::byte* pixels = nullptr; // aligned for their type
  PixelType type = PixelType::float32;

  PixelsOut(std::byte* to, PixelType asType) : pixels(to), type(asType) {}
  explicit PixelsOut(float* values) : pixels(reinterpret_cast<std::byte*>(values)) {}

  std::byte* at(std::size_t voxel) const { return pixels + voxel * pixelTypeSize(type); }
};

/// Slices of a grid as a grid of their own, and as voxels [begin, end) of the whole.
template <int D>
struct GridSlices {
  ImageGeometry<D> geometry;
  std::size_t begin, end;

  GridSlices(const ImageGeometry<D>& grid, const SliceRange&);
};

/// Brings moving images to the fixed grid, and knows which results a parameter text asks for.
template <int D>
class Resampler {
public:
  static constexpr const char* roleName = "Resampler";
  virtual ~Resampler() = default;

  /// The values of every source at T(x) for the voxels x in some slices of `output`; T(x) is computed once
  /// for all of them. Values are floats, pixels of another type what toPixel makes of these. A voxel has the
  /// same bits whichever slices are asked for.
  virtual void resampleInto(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                            const ImageGeometry<D>& output, const SliceRange&,
                            std::span<const PixelsOut> ofSources) const = 0;
  /// What the parts of one more resampling took, all slices.
  virtual std::vector<Phase> timePhases(Context&, const TransformChain<D>&,
                                        std::span<const ResampleSource<D>>, const ImageGeometry<D>& output,
                                        std::span<const PixelsOut> ofSources) const = 0;

  /// What that takes of a CUDA device for one moving image, with preparing its interpolator.
  virtual DeviceMemory deviceMemory(const TransformChain<D>&, const ImageGeometry<D>& moving,
                                    bool hasInvalidVoxels, const ImageGeometry<D>& output) const = 0;

  /// With so much of a CUDA device for all of that, and the image in slices. The interpolator was prepared
  /// for the image on the CPU if it reads voxels; another one need not be.
  virtual SlicesThatFit slicesThatFit(const TransformChain<D>&, const Interpolator<D>&, bool hasInvalidVoxels,
                                      const ImageGeometry<D>& output, double deviceBytes) const = 0;

  /// Of an image on this grid, read by this interpolator on the CPU. From one range to the next, those asked
  /// for move to one end.
  virtual SlicesAskedFor slicesAskedFor(const TransformChain<D>&, const Interpolator<D>&,
                                        const ImageGeometry<D>& moving,
                                        const ImageGeometry<D>& output) const = 0;

  /// What resampleInto() gives as images of those slices. Throws Error(outOfMemory).
  std::vector<Image<D>> resample(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                                 const ImageGeometry<D>& output, const SliceRange& = {}) const;
  Image<D> resample(Context&, const TransformChain<D>&, const ResampleSource<D>&,
                    const ImageGeometry<D>& output) const;
  /// The same as pixels, of a type for each source. Throws Error(outOfMemory).
  std::vector<std::unique_ptr<std::byte[]>> resamplePixels(Context&, const TransformChain<D>&,
                                                           std::span<const ResampleSource<D>>,
                                                           const ImageGeometry<D>& output,
                                                           std::span<const PixelType> types,
                                                           const SliceRange& = {}) const;

  /// Of voxels that are mapped outside the moving image.
  virtual double outsideValue() const = 0;
  /// Tells of such a value that voxels of resultImage().pixelType cannot hold. To be called if images are
  /// written.
  virtual void warnOfClampedOutside() const = 0;
  virtual const ResultImageSettings& resultImage() const = 0;
  virtual bool writesFinalResult() const = 0;
  virtual bool writesResultAfterLevel(std::size_t level) const = 0;
  virtual bool writesResultAfterIterations(std::size_t level) const = 0;
  /// Lines of a transform parameter file, by which a later program resamples in the same way.
  virtual std::vector<FileEntry> fileEntries() const = 0;
};

}
