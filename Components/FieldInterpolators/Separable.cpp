#include "Components/FieldInterpolators/Separable.h"

#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"
#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Core/Compute/Log.h"

namespace tessera {

template <int D>
const ComponentDescription& Separable<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "Separable",
      "Contraction axis by axis on CPU and CUDA, any grid spacing from one voxel, any phase."};
  return description;
}

template <int D>
std::string Separable<D>::refusal(const AlignedField<D>& field) const
{
  constexpr double rounding = 1e-9;
  for (int d = 0; d < D; ++d)
    if (field.axes[d].step > 1 + rounding)
      return "a grid spacing of " + significant(1 / field.axes[d].step, 6) + " voxels along " + "xyz"[d]
             + ", less than one";
  return {};
}

template <int D>
void Separable<D>::displacements(Context& context, const AlignedField<D>& field,
                                 const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  if (context.onCuda())
    separableDisplacementsOnCuda(context, field, coefficients.onCuda, target);
  else
    separableDisplacements(context, field, coefficients.onCpu, target);
}

template <int D>
void Separable<D>::jacobians(Context& context, const AlignedField<D>& field,
                             const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  if (context.onCuda())
    separableJacobiansOnCuda(context, field, coefficients.onCuda, target);
  else
    separableJacobians(context, field, coefficients.onCpu, target);
}

template <int D>
void Separable<D>::jacobianDeterminants(Context& context, const AlignedField<D>& field,
                                        const FieldCoefficients& coefficients,
                                        const FieldTarget& target) const
{
  if (context.onCuda())
    separableJacobianDeterminantsOnCuda(context, field, coefficients.onCuda, target);
  else
    separableJacobianDeterminants(context, field, coefficients.onCpu, target);
}

TESSERA_INSTANTIATE_CLASS(Separable);

}
