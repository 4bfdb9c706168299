#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// Each thread computes one voxel: it makes a cubic from eight linear interpolations by the texture units and
/// linear interpolations between their results (Sigg and Hadwiger, "Fast third-order texture filtering", GPU
/// Gems 2, 2005; Ruijters et al., "Efficient GPU-based texture interpolation using uniform B-splines", 2008).
/// Texture units round fractions to 1/256, so the error of a displacement is about 1/1000 of the difference
/// of neighbouring control points. It takes cubic splines with any grid spacing.
///
/// (FieldInterpolator "TextureHardware")
template <int D>
class TextureHardware final : public FieldInterpolator<D> {
public:
  explicit TextureHardware(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cuda; }
  std::string refusal(const AlignedField<D>&) const override;
  TESSERA_CUDA_ONLY void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                       const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
