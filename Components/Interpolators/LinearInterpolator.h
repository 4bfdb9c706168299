#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolator.h"

namespace tessera {

/// Linear interpolation between the nearest voxels. In the half voxel beyond the border, matching mirrors the
/// image, as elastix does where it needs the gradient; resampling repeats the border voxel, as
/// itk::LinearInterpolateImageFunction does.
///
/// (Interpolator "LinearInterpolator")
/// (ResampleInterpolator "FinalLinearInterpolator")
template <int D>
class LinearInterpolator final : public Interpolator<D> {
public:
  explicit LinearInterpolator(const Parameters&, InterpolatorUse use = InterpolatorUse::matching) : use_(use)
  {
  }

  void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) override;
  const ImageGeometry<D>& imageGeometry() const override { return geometry_; }
  void evaluate(Context&, const ListSamples<D>&, float* values, float* const* gradients,
                std::uint8_t* inside) const override;
  bool evaluateRow(const IndexRow<D>&, float* values, RowSpan& inside) const override;
  const InterpolatorOnCuda<D>* onCuda() const override { return D < 4 ? &onCuda_ : nullptr; }
  bool readsVoxels() const override { return true; }
  void endLevel() override { voxelsOnCuda_.reset(); }
  bool hasGradient() const override { return true; }

  static const ComponentDescription& description() { return description(InterpolatorUse::matching); }
  static const ComponentDescription& description(InterpolatorUse);

private:
  void readInPlace(const float* voxels, const ImageGeometry<D>& geometry) override
  {
    geometry_ = geometry;
    spline_ = SplineImage<D>(voxels, geometry);
    spline_.edges = use_ == InterpolatorUse::matching ? EdgeRule::mirror : EdgeRule::clamp;
    spline_.lastVoxelClosesCell = true;
  }

  InterpolatorUse use_;
  ImagePointer<D> image_; // null if something else owns the voxels
  ImageGeometry<D> geometry_;
  SplineImage<D> spline_;
  std::shared_ptr<const Buffer<float>> voxelsOnCuda_;
  InterpolatorOnCuda<D> onCuda_;
};

}
