#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// Each block keeps the control points of some tiles along x in shared memory. Each thread computes one
/// voxel, with weights from a table for each position in the tile (Ellingwood et al., "Efficient methods for
/// implementation of multi-level nonrigid mass-preserving image registration on GPUs and multi-threaded
/// CPUs", 2016).
///
/// (FieldInterpolator "ThreadPerVoxelTiled")
template <int D>
class ThreadPerVoxelTiled final : public FieldInterpolator<D> {
public:
  explicit ThreadPerVoxelTiled(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::string refusal(const AlignedField<D>& field) const override { return refusalWithoutWholeTiles(field); }
  TESSERA_CUDA_ONLY void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                       const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
