#pragma once

#include "Core/Image/Files/ItkTransformFile.h"
#include "Core/Image/Image.h"

#include <vector>

namespace tessera {

/// What itk::ResampleImageFilter is to do.
template <int D>
struct ItkResampling {
  enum class Interpolation { nearest, linear, bspline };

  ImagePointer<D> moving;
  std::vector<ItkTransform>
      transforms;              // the last one is applied first; several are an itk::CompositeTransform
  bool compositeOfOne = false; // a single one is, too
  Interpolation interpolation = Interpolation::linear;
  int splineOrder = 3; // of itk::BSplineInterpolateImageFunction, with coefficients in double
  ImageGeometry<D> output;
  float outside = 0; // value of voxels that are mapped outside
  int threads = 1;
};

/// The filter with images of float: coefficients of splines and all voxels in each run.
template <int D>
class ItkResample {
public:
  explicit ItkResample(const ItkResampling<D>&);
  ~ItkResample();

  void run();
  /// Of the last run, x fastest.
  const float* voxels() const;

private:
  struct Filter;
  std::unique_ptr<Filter> filter_;
};

}
