#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// Each thread computes one component of a tile. It keeps the tile's 64 control points in registers and sums
/// them voxel by voxel, with weights from a table for each position in the tile (TT of Zachariadis et al.,
/// "Accelerating B-spline interpolation on GPUs", 2020, section 3.2). It takes cubic splines on whole tiles.
///
/// (FieldInterpolator "ThreadPerTile")
template <int D>
class ThreadPerTile final : public FieldInterpolator<D> {
public:
  explicit ThreadPerTile(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::string refusal(const AlignedField<D>& field) const override { return refusalOfCubicTiles(field); }
  TESSERA_CUDA_ONLY void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                       const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
