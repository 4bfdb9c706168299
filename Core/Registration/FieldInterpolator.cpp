#include "Core/Registration/FieldInterpolator.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"

#include <cmath>

namespace tessera {
namespace {

constexpr int largestTile = 32;

template <int D>
[[noreturn]] void failWithoutDerivatives(const FieldInterpolator<D>& method)
{
  failAs(ExitCode::usage, "(FieldInterpolator \"" + method.name() + "\")",
         "spatial derivatives: it gives displacements only", "a method with derivatives");
}

}

template <int D>
void FieldInterpolator<D>::jacobians(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                     const FieldTarget&) const
{
  failWithoutDerivatives(*this);
}

template <int D>
void FieldInterpolator<D>::jacobianDeterminants(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                                const FieldTarget&) const
{
  failWithoutDerivatives(*this);
}

int wholeTile(const FieldAxis& axis)
{
  const double spacing = 1 / axis.step, whole = std::round(spacing);
  return whole >= 1 && whole <= largestTile && std::abs(spacing - whole) < 1e-9 * whole
             ? static_cast<int>(whole)
             : 0;
}

template <int D>
std::string refusalWithoutWholeTiles(const AlignedField<D>& field)
{
  for (int d = 0; d < D; ++d)
    if (wholeTile(field.axes[d]) == 0)
      return "a grid spacing of " + significant(1 / field.axes[d].step, 6) + " voxels along " + "xyz"[d]
             + ", not a whole number from 1 to " + std::to_string(largestTile);
  return {};
}

TESSERA_INSTANTIATE_CLASS_TO_4(FieldInterpolator);
TESSERA_INSTANTIATE_FUNCTIONS(refusalWithoutWholeTiles<D>);

}
