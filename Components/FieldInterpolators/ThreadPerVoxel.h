#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// Each thread computes one voxel: it sums all its (order + 1)^D control points, with weights from a table
/// for each axis. It takes any grid spacing. This is the scheme of NiftyReg (Modat et al., "Fast free-form
/// deformation using graphics processing units", 2010).
///
/// (FieldInterpolator "ThreadPerVoxel")
template <int D>
class ThreadPerVoxel final : public FieldInterpolator<D> {
public:
  explicit ThreadPerVoxel(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::string refusal(const AlignedField<D>&) const override { return {}; }
  int rankForAuto() const override { return 1; }
  TESSERA_CUDA_ONLY void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                       const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
