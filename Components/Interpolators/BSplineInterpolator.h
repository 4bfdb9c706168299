#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Components/Interpolators/Shared/NearestVoxel.h"
#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolator.h"

#include <memory>

namespace tessera {

/// B-spline interpolation of orders 0 to 5 through the voxels, with mirror boundaries (Unser, "Splines: a
/// perfect fit", 1999).
///
/// (Interpolator "BSplineInterpolator")
/// (BSplineInterpolationOrder 1)              one value per level; 0: nearest voxel, no gradient; 1: linear
/// (ResampleInterpolator "FinalBSplineInterpolator")
/// (FinalBSplineInterpolationOrder 3)
template <int D>
class BSplineInterpolator final : public Interpolator<D> {
public:
  explicit BSplineInterpolator(const Parameters&, InterpolatorUse = InterpolatorUse::matching);

  void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) override;
  /// Orders 0 and 1 have no coefficients.
  bool readsVoxels() const override { return order_ < 2; }
  int order(std::size_t level) const override;
  const ImageGeometry<D>& imageGeometry() const override { return geometry_; }
  void evaluate(Context&, const ListSamples<D>&, float* values, float* const* gradients,
                std::uint8_t* inside) const override;
  bool evaluateRow(const IndexRow<D>&, float* values, RowSpan& inside) const override;
  const InterpolatorOnCuda<D>* onCuda() const override { return D < 4 ? &onCuda_ : nullptr; }
  void endLevel() override
  {
    voxelsOnCuda_.reset();
    coefficientsOnCuda_ = {};
    coefficients_ = {};
    fineCoefficients_ = {};
  }
  bool hasGradient() const override { return order_ > 0; }
  void requireGradients() const override;

  static const ComponentDescription& description() { return description(InterpolatorUse::matching); }
  static const ComponentDescription& description(InterpolatorUse);

private:
  void readInPlace(const float* voxels, const ImageGeometry<D>& geometry) override
  {
    geometry_ = geometry;
    pointToIndex_ = geometry.pointToIndex();
    voxels_ = {voxels, geometry.size};
    spline_ = SplineImage<D>(voxels, geometry);
  }
  void putOnCuda(const Context&);
  void resampleOnCuda(Context&);

  Parameters parameters_;
  InterpolatorUse use_;
  int order_;             // the level's order
  ImagePointer<D> image_; // orders 0 and 1 read it in place; null if something else owns the voxels
  VoxelArray<D> voxels_;  // used by order 0
  ImageGeometry<D> geometry_;
  PointToIndex<D> pointToIndex_{};
  std::vector<float> coefficients_;
  SplineImage<D> spline_;
  std::unique_ptr<double[]> fineCoefficients_; // used for result images
  SplineImage<D, double> fineSpline_;
  std::shared_ptr<const Buffer<float>> voxelsOnCuda_; // used by orders 0 and 1
  Buffer<float> coefficientsOnCuda_;                  // used by orders above 1
  InterpolatorOnCuda<D> onCuda_;
};

}
