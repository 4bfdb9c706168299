#pragma once

#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Core/Registration/Interpolator.h"

namespace tessera {

/// The label whose linear weights among the nearest voxels have the largest sum. Borders are smoother than
/// those of the nearest voxel, and no label appears that is not there. If two sums are equal, the smaller
/// label wins. Beyond the border the border's voxels are repeated. There is no gradient.
///
/// (ResampleInterpolator "LabelMajorityInterpolator")
template <int D>
class LabelMajorityInterpolator final : public Interpolator<D> {
public:
  explicit LabelMajorityInterpolator(const Parameters&) {}

  void prepareForLevel(Context& context, const ImagePointer<D>& image, std::size_t) override
  {
    image_ = image;
    readInPlace(image->voxels.data(), image->geometry);
    voxelsOnCuda_ = context.onCuda() ? voxelsOnCuda<D>(context, image) : nullptr;
    onCuda_ = {voxelsOnCuda_ ? voxelsOnCuda_->span().data() : nullptr, image->geometry, orderOfLabels};
  }
  const ImageGeometry<D>& imageGeometry() const override { return geometry_; }
  /// Throws Error(usage) if gradients are wanted.
  void evaluate(Context&, const ListSamples<D>&, float* values, float* const* gradients,
                std::uint8_t* inside) const override;
  const InterpolatorOnCuda<D>* onCuda() const override { return &onCuda_; }
  bool readsVoxels() const override { return true; }
  int order(std::size_t) const override { return orderOfLabels; }
  void endLevel() override { voxelsOnCuda_.reset(); }
  bool hasGradient() const override { return false; }

  static const ComponentDescription& description();

private:
  void readInPlace(const float* voxels, const ImageGeometry<D>& geometry) override
  {
    geometry_ = geometry;
    voxels_ = SplineImage<D>(voxels, geometry);
    voxels_.edges = EdgeRule::clamp;
    voxels_.lastVoxelClosesCell = true;
  }

  ImagePointer<D> image_; // null if something else owns the voxels
  ImageGeometry<D> geometry_;
  SplineImage<D> voxels_;
  std::shared_ptr<const Buffer<float>> voxelsOnCuda_;
  InterpolatorOnCuda<D> onCuda_;
};

}
