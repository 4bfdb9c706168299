#include "Components/FieldInterpolators/TextureHardware.h"

namespace tessera {
namespace {

// The limits of every GPU since 2016. The texture holds the components one behind the other along its last
// axis.
constexpr int largestTexture[2][3] = {{131072, 65536, 0}, {16384, 16384, 16384}};

}

template <int D>
std::string TextureHardware<D>::refusal(const AlignedField<D>& field) const
{
  if (field.order != 3)
    return "a spline order of " + std::to_string(field.order) + ", not 3";
  for (int d = 0; d < D; ++d)
    if (const int points = field.axes[d].points * (d == D - 1 ? D : 1); points > largestTexture[D - 2][d])
      return std::to_string(field.axes[d].points) + " control points along " + "xyz"[d]
             + ", more than a texture holds";
  return {};
}

template <int D>
const ComponentDescription& TextureHardware<D>::description()
{
  static const ComponentDescription description{"FieldInterpolator", "TextureHardware",
                                                "CUDA: cubic of eight hardware interpolations with 8-bit "
                                                "fractions; any grid spacing (Ruijters et al. 2008)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(TextureHardware);

}
