#include "Core/Registration/FieldInterpolator.h"

#include "Core/Compute/Error.h"

#include <cmath>
#include <sstream>

namespace tessera {
namespace {

constexpr int largestTile = 32;

template <int D>
[[noreturn]] void failWithoutDerivatives(const FieldInterpolator<D>& method)
{
  throw Error(ExitCode::usage,
              "(FieldInterpolator \"" + method.name() + "\"): spatial derivatives: it gives displacements only. Allowed: \"Separable\".");
}

}

template <int D>
void FieldInterpolator<D>::jacobians(Context&, const AlignedField<D>&, const FieldCoefficients&, const FieldTarget&) const
{
  failWithoutDerivatives(*this);
}

template <int D>
void FieldInterpolator<D>::jacobianDeterminants(Context&, const AlignedField<D>&, const FieldCoefficients&, const FieldTarget&) const
{
  failWithoutDerivatives(*this);
}

int wholeTile(const FieldAxis& axis)
{
  const double spacing = 1 / axis.step, whole = std::round(spacing);
  return whole >= 1 && whole <= largestTile && std::abs(spacing - whole) < 1e-9 * whole ? static_cast<int>(whole) : 0;
}

template <int D>
std::string refusalWithoutWholeTiles(const AlignedField<D>& field)
{
  for (int d = 0; d < D; ++d)
    if (wholeTile(field.axes[d]) == 0) {
      std::ostringstream text;
      text << "a grid spacing of " << 1 / field.axes[d].step << " voxels along " << "xyz"[d] << ", not a whole number from 1 to "
           << largestTile;
      return text.str();
    }
  return {};
}

template <int D>
void requireServes(const FieldInterpolator<D>& method, const AlignedField<D>& field, const Context& context, const std::string& where,
                   const std::vector<const FieldInterpolator<D>*>& known)
{
  const auto refusalOf = [&](const FieldInterpolator<D>& one) {
    return one.runsOn(context.device.kind) ? one.refusal(field)
                                           : std::string(context.onCuda() ? "it does not run on CUDA" : "it does not run on the CPU");
  };
  const std::string why = refusalOf(method);
  if (why.empty())
    return;
  std::string allowed;
  for (const FieldInterpolator<D>* one : known)
    if (refusalOf(*one).empty())
      allowed += (allowed.empty() ? "" : ", ") + one->name();
  throw Error(ExitCode::usage, where + ": (FieldInterpolator \"" + method.name() + "\"): " + why + ". Allowed: " + allowed + ".");
}

template class FieldInterpolator<2>;
template class FieldInterpolator<3>;
template std::string refusalWithoutWholeTiles<2>(const AlignedField<2>&);
template std::string refusalWithoutWholeTiles<3>(const AlignedField<3>&);
template void requireServes<2>(const FieldInterpolator<2>&, const AlignedField<2>&, const Context&, const std::string&,
                               const std::vector<const FieldInterpolator<2>*>&);
template void requireServes<3>(const FieldInterpolator<3>&, const AlignedField<3>&, const Context&, const std::string&,
                               const std::vector<const FieldInterpolator<3>*>&);

}
