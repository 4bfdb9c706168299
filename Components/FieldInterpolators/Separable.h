#pragma once

#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// Contracts the control points axis by axis, with weights kept for each axis and voxel. It takes any grid
/// spacing of at least one voxel, any phase, and orders 1 to 3. The formulas are in Shared/SeparableOnCuda.h
/// and Shared/SeparableOnCpu.h.
///
/// (FieldInterpolator "Separable")
template <int D>
class Separable final : public FieldInterpolator<D> {
public:
  Separable() = default;
  explicit Separable(const Parameters&) {}
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind) const override { return true; }
  std::string refusal(const AlignedField<D>&) const override;
  int rankForAuto() const override { return 2; }

  void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                     const FieldTarget&) const override;
  bool hasDerivatives() const override { return true; }
  void jacobians(Context&, const AlignedField<D>&, const FieldCoefficients&,
                 const FieldTarget&) const override;
  void jacobianDeterminants(Context&, const AlignedField<D>&, const FieldCoefficients&,
                            const FieldTarget&) const override;
};

}
