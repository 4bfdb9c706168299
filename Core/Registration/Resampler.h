#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Slices/SliceWindowOnCuda.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Transform.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The name and format of result images.
struct ResultImageSettings {
  std::string name = "result"; // stem of the file
  std::string format = "mhd";  // its ending
  PixelType pixelType = PixelType::int16;
  bool compress = false;
};

/// A moving image to be resampled.
template <int D>
struct ResampleSource {
  const Interpolator<D>* interpolator = nullptr; // prepared for the image; on the CPU if inSlices is set
  MaskPointer<D> valid; // T(x) at a voxel outside this mask is outside the image; null: all voxels are valid
  std::shared_ptr<SliceWindowOnCuda<D>> inSlices = {}; // not null: a CUDA device holds only some slices
  std::optional<double> outside = {}; // value of voxels that are mapped outside; empty: outsideValue()
};

/// The number of slices of an image that a CUDA device can hold at a time.
struct SlicesThatFit {
  std::size_t atOnce = 0; // 0: the device must hold the whole image
  std::string whyNot;     // the reason, such as "the coefficients of splines ..."
};

/// Slices along the last axis of a grid. Those beyond its end are ignored.
struct SliceRange {
  std::size_t first = 0, count = std::numeric_limits<std::size_t>::max();
};

/// The slices of a moving image that some slices of a result may depend on.
struct SlicesAskedFor {
  std::function<SliceRange(const SliceRange& ofOutput)> by; // empty: the whole image must be in memory
  std::string whyNot; // the reason, such as "the coefficients of splines ..."
};

/// Memory for the voxels of a result, x fastest: of the host, or of the CUDA device that resamples.
struct PixelsOut {
  std::byte* pixels = nullptr; // aligned for their type
  PixelType type = PixelType::float32;
  std::atomic<std::size_t>* clamped = nullptr; // adds the number of clamped values, unless null

  PixelsOut(std::byte* to, PixelType asType) : pixels(to), type(asType) {}

  std::byte* at(std::size_t voxel) const { return pixels + voxel * pixelTypeSize(type); }
};

/// Some slices of a grid as a grid of their own, and as voxels [begin, end) of the whole grid.
template <int D>
struct GridSlices {
  ImageGeometry<D> geometry;
  std::size_t begin, end;

  GridSlices(const ImageGeometry<D>& grid, const SliceRange&);
};

/// Resamples moving images on the fixed grid. Holds the parameters that say which results are written.
template <int D>
class Resampler {
public:
  static constexpr const char* roleName = "Resampler";
  virtual ~Resampler() = default;

  /// Writes the values of every source at T(x) for the voxels x in some slices of `output`. T(x) is computed
  /// once for all sources. Values are computed as floats and converted by toPixel. A voxel has the same bits
  /// whichever slices one call computes. On the context of a MemoryCount it takes the memory that it needs on
  /// a device and computes nothing; `results` then have types and no pixels.
  virtual void resampleInto(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                            const ImageGeometry<D>& output, const SliceRange&,
                            std::span<const PixelsOut> results) const = 0;

  /// The number of slices of the image that the device can hold if it has `deviceBytes` for the whole
  /// resampling. The interpolator must have been prepared on the CPU if it reads voxels; the mask may come
  /// without voxels.
  virtual SlicesThatFit slicesThatFit(const TransformChain<D>&, const ResampleSource<D>&,
                                      const ImageGeometry<D>& output, PixelType,
                                      double deviceBytes) const = 0;

  /// The slices of an image on the grid `moving` that are needed on the CPU. From one range of output slices
  /// to the next, the needed slices move in one direction.
  virtual SlicesAskedFor slicesAskedFor(const TransformChain<D>&, const Interpolator<D>&,
                                        const ImageGeometry<D>& moving,
                                        const ImageGeometry<D>& output) const = 0;

  /// The results of resampleInto() as pixels, with a type for each source. `clamped`, unless null, gets the
  /// number of values of each result that its type clamps. Throws Error(outOfMemory).
  std::vector<std::unique_ptr<std::byte[]>>
  resamplePixels(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                 const ImageGeometry<D>& output, std::span<const PixelType> types, const SliceRange& = {},
                 std::vector<std::size_t>* clamped = nullptr) const;

  /// The value of voxels that are mapped outside the moving image.
  virtual double outsideValue() const = 0;
  /// Warns if voxels of resultImage().pixelType cannot hold outsideValue(), or if the parameters name another
  /// type. To be called if images are written.
  virtual void warnOfPixelType() const = 0;
  virtual const ResultImageSettings& resultImage() const = 0;
  virtual bool writesFinalResult() const = 0;
  virtual bool writesResultAfterLevel(std::size_t level) const = 0;
  virtual bool writesResultAfterIterations(std::size_t level) const = 0;
  /// The lines of a transform parameter file with which another program resamples in the same way.
  virtual std::vector<FileEntry> fileEntries() const = 0;
};

}
