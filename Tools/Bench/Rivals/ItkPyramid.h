#pragma once

#include "Core/Image/Image.h"

#include <memory>
#include <vector>

namespace tessera {

/// ITK's own filters on an image of floats, with as many threads as asked for. Each call runs one filter and
/// returns its voxels.
template <int D>
class ItkFilters {
public:
  ItkFilters(const ImagePointer<D>&, int threads);
  ~ItkFilters();

  /// Runs itk::RecursiveGaussianImageFilter along one axis.
  std::vector<float> gaussian(int axis, double sigmaVoxels);
  /// Runs itk::SmoothingRecursiveGaussianImageFilter (not for sigma 0), then itk::ShrinkImageFilter if
  /// `takesVoxels`, or else itk::ResampleImageFilter with linear interpolation onto the pyramid's grid.
  std::vector<float> level(double sigmaVoxels, std::size_t factor, bool takesVoxels);
  /// Runs itk::BSplineDecompositionImageFilter in double precision.
  std::vector<float> splineCoefficients(int order);

  /// The time of the last call without copying its voxels, in milliseconds.
  double milliseconds() const { return milliseconds_; }

private:
  struct Input;
  template <class Filter>
  std::vector<float> run(Filter& filter);

  ImagePointer<D> image_; // holds the voxels that `input_` reads
  std::unique_ptr<Input> input_;
  double milliseconds_ = 0;
};

}
