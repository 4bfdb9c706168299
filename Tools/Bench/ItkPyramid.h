#pragma once

#include "Core/Image/Image.h"

#include <memory>
#include <vector>

namespace tessera {

/// ITK's own filters of one image of floats, as many threads as asked for: each call runs one and gives its
/// voxels.
template <int D>
class ItkFilters {
public:
  ItkFilters(const ImagePointer<D>&, int threads);
  ~ItkFilters();

  /// itk::RecursiveGaussianImageFilter along one axis.
  std::vector<float> gaussian(int axis, double sigmaVoxels);
  /// itk::SmoothingRecursiveGaussianImageFilter, then itk::ShrinkImageFilter or, linearly,
  /// itk::ResampleImageFilter onto the pyramid's grid. Sigma 0: no smoothing.
  std::vector<float> level(double sigmaVoxels, std::size_t factor, bool takesVoxels);
  /// itk::BSplineDecompositionImageFilter, in double.
  std::vector<float> splineCoefficients(int order);

  /// Of the last call, without that of copying its voxels.
  double milliseconds() const { return milliseconds_; }

private:
  struct Input;
  template <class Filter>
  std::vector<float> run(Filter& filter);

  ImagePointer<D> image_; // whose voxels `input_` reads
  std::unique_ptr<Input> input_;
  double milliseconds_ = 0;
};

}
