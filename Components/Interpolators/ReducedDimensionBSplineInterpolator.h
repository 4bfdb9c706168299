#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolator.h"

#include <memory>
#include <vector>

namespace tessera {

/// Interpolation of a series, whose last axis is time: a B-spline of orders 0 to 5 in the slice that is
/// nearest in time, with mirror boundaries (Unser, "Splines: a perfect fit", 1999). Gradients are 0 along
/// time.
///
/// (Interpolator "ReducedDimensionBSplineInterpolator")
/// (BSplineInterpolationOrder 1)              one value per level
/// (ResampleInterpolator "FinalReducedDimensionBSplineInterpolator")
/// (FinalReducedDimensionBSplineInterpolationOrder 3)
template <int D>
class ReducedDimensionBSplineInterpolator final : public Interpolator<D> {
public:
  explicit ReducedDimensionBSplineInterpolator(const Parameters&,
                                               InterpolatorUse = InterpolatorUse::matching);
  static const ComponentDescription& description() { return description(InterpolatorUse::matching); }
  static const ComponentDescription& description(InterpolatorUse);

  /// Throws Error(unreadableInput) if the image is no series.
  void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) override;
  int order(std::size_t level) const override;
  const ImageGeometry<D>& imageGeometry() const override { return image_->geometry; }
  void evaluate(Context&, const ListSamples<D>&, float* values, float* const* gradients,
                std::uint8_t* inside) const override;
  /// Result images are made on the CPU.
  const SlicedSeriesOnCuda<D>* slicedSeriesOnCuda() const override
  {
    return use_ == InterpolatorUse::matching ? &onCuda_ : nullptr;
  }
  void endLevel() override
  {
    slices_.clear();
    voxelsOnCuda_.reset();
    coefficientsOnCuda_ = {};
  }
  bool hasGradient() const override { return order_ > 0; }
  void requireGradients() const override;

private:
  /// The spline of one slice; of orders 0 and 1 it reads the image's voxels.
  struct Slice {
    std::vector<float> coefficients;
    std::unique_ptr<double[]> fineCoefficients; // used for result images
    SplineImage<D - 1> spline;
    SplineImage<D - 1, double> fineSpline;
  };
  void putOnCuda(const Context&);
  void evaluateSlice(const Slice&, const ListSamples<D - 1>&, float* values, float* const* gradients,
                     std::uint8_t* inside) const;

  Parameters parameters_;
  InterpolatorUse use_;
  int order_; // the level's order
  ImagePointer<D> image_;
  PointToIndex<D> pointToIndex_{};
  std::vector<Slice> slices_;
  std::shared_ptr<const Buffer<float>> voxelsOnCuda_; // used by orders 0 and 1
  Buffer<float> coefficientsOnCuda_;                  // used by orders above 1
  SlicedSeriesOnCuda<D> onCuda_;
};

}
