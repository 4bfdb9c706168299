#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// ThreadPerTile with the 4x4x4 sum as eight trilinear interpolations, one in each 2x2x2 corner, and one
/// between their results, all of fused multiply-adds (TTLI of Zachariadis et al., "Accelerating B-spline
/// interpolation on GPUs", 2020, section 3.3). Interpolations that the voxels of a slice or a row have in
/// common are made once. It takes cubic splines on whole tiles.
///
/// (FieldInterpolator "ThreadPerTileLinear")
template <int D>
class ThreadPerTileLinear final : public FieldInterpolator<D> {
public:
  explicit ThreadPerTileLinear(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::string refusal(const AlignedField<D>& field) const override { return refusalOfCubicTiles(field); }
  TESSERA_CUDA_ONLY void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                       const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
