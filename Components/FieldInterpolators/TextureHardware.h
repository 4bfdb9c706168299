#pragma once

#include "Core/Compute/CudaOnly.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// One thread a voxel takes eight linear interpolations of the texture units and interpolates linearly
/// between them, which makes a cubic (Sigg and Hadwiger, "Fast third-order texture filtering", GPU Gems 2,
/// 2005; Ruijters et al., "Efficient GPU-based texture interpolation using uniform B-splines", 2008). Texture
/// units take fractions in steps of 1/256, so a displacement is wrong by about 1/1000 of what control points
/// differ by. Any grid spacing; cubics.
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
