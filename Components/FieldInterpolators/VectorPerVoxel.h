#pragma once

#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// The eight trilinear interpolations of a voxel are in the eight lanes of a vector; one more is between
/// their results (VV of Zachariadis et al., "Accelerating B-spline interpolation on GPUs", 2020, section 3.5;
/// in 2D four bilinear ones and one). The control points stay in vectors for all voxels of a tile. It takes
/// cubic splines on whole tiles, in single precision.
///
/// (FieldInterpolator "VectorPerVoxel")
template <int D>
class VectorPerVoxel final : public FieldInterpolator<D> {
public:
  explicit VectorPerVoxel(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  std::string refusal(const AlignedField<D>& field) const override { return refusalOfCubicTiles(field); }
  void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                     const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
