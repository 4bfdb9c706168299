#pragma once

#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Transform.h"

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

/// Brings the moving image to the fixed grid, and knows which results a parameter text asks for.
template <int D>
class Resampler {
public:
  static constexpr const char* roleName = "Resampler";
  virtual ~Resampler() = default;

  /// The value at T(x) for every voxel x of `output`; `moving` was prepared for the moving image. In float, not yet rounded.
  /// Where T(x) falls on a voxel outside `validMoving` it is outside the moving image; null: all voxels are valid.
  virtual Image<D> resample(Context&, const TransformChain<D>&, const Interpolator<D>& moving, const MaskPointer<D>& validMoving,
                            const ImageGeometry<D>& output) const = 0;

  virtual const ResultImageSettings& resultImage() const = 0;
  virtual bool writesFinalResult() const = 0;
  virtual bool writesResultAfterLevel(std::size_t level) const = 0;
  virtual bool writesResultAfterIterations(std::size_t level) const = 0;
  /// Lines of a transform parameter file, by which a later program resamples in the same way.
  virtual std::vector<FileEntry> fileEntries() const = 0;
};

}
