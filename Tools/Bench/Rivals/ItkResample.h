#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

#include <vector>

namespace tessera {

/// The task of itk::ResampleImageFilter.
template <int D>
struct ItkResampling {
  enum class Interpolation { nearest, linear, bspline };

  ImagePointer<D> moving;
  // The last transform is applied first. Several transforms become an itk::CompositeTransform.
  std::vector<ItkTransform> transforms;
  bool compositeOfOne = false; // a single transform becomes one as well
  Interpolation interpolation = Interpolation::linear;
  int splineOrder = 3; // for itk::BSplineInterpolateImageFunction with coefficients in double precision
  ImageGeometry<D> output;
  float outside = 0; // value of voxels that are mapped outside of the image
  int threads = 1;
};

/// The filter on images of floats. Each run computes spline coefficients and all voxels anew.
template <int D>
class ItkResample {
public:
  explicit ItkResample(const ItkResampling<D>&);
  ~ItkResample();

  void run();
  /// The voxels of the last run, x fastest.
  const float* voxels() const;

private:
  struct Filter;
  std::unique_ptr<Filter> filter_;
};

}
