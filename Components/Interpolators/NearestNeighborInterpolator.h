#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Components/Interpolators/Shared/NearestVoxel.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolator.h"

namespace tessera {

/// The value of the nearest voxel. Its gradient is the central difference at that voxel.
///
/// (Interpolator "NearestNeighborInterpolator")
/// (ResampleInterpolator "FinalNearestNeighborInterpolator")
template <int D>
class NearestNeighborInterpolator final : public Interpolator<D> {
public:
  explicit NearestNeighborInterpolator(const Parameters&, InterpolatorUse use = InterpolatorUse::matching)
      : use_(use)
  {
  }

  void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t level) override;
  const ImageGeometry<D>& imageGeometry() const override { return geometry_; }
  void evaluate(Context&, const ListSamples<D>& points, float* values, float* const* gradients,
                std::uint8_t* inside) const override
  {
    evaluateNearest<D>(voxels_, pointToIndex_, NearestRule::exact, points, values, gradients, inside);
  }
  bool evaluateRow(const IndexRow<D>& row, float* values, RowSpan& inside) const override
  {
    return evaluateNearestRow<D>(voxels_, NearestRule::exact, row, values, inside);
  }
  const InterpolatorOnCuda<D>* onCuda() const override { return D < 4 ? &onCuda_ : nullptr; }
  bool readsVoxels() const override { return true; }
  int order(std::size_t) const override { return 0; }
  void endLevel() override { voxelsOnCuda_.reset(); }
  bool hasGradient() const override { return true; }

  static const ComponentDescription& description() { return description(InterpolatorUse::matching); }
  static const ComponentDescription& description(InterpolatorUse);

private:
  void readInPlace(const float* voxels, const ImageGeometry<D>& geometry) override
  {
    geometry_ = geometry;
    voxels_ = {voxels, geometry.size};
    pointToIndex_ = geometry.pointToIndex();
  }

  InterpolatorUse use_;
  ImagePointer<D> image_; // null if something else owns the voxels
  VoxelArray<D> voxels_;
  ImageGeometry<D> geometry_;
  PointToIndex<D> pointToIndex_{};
  std::shared_ptr<const Buffer<float>> voxelsOnCuda_;
  InterpolatorOnCuda<D> onCuda_;
};

}
