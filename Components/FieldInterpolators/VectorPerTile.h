#pragma once

#include "Core/Parameters/Parameters.h"
#include "Core/Registration/FieldInterpolator.h"

namespace tessera {

/// The voxels of a row of a tile are in the lanes of vectors, each lane with its own fractions along x. Each
/// voxel takes eight trilinear interpolations of the tile's control points, and one of their results (VT of
/// Zachariadis et al., "Accelerating B-spline interpolation on GPUs", 2020, section 3.5; in 2D four bilinear
/// ones and one). It takes cubic splines on whole tiles, in single precision.
///
/// (FieldInterpolator "VectorPerTile")
template <int D>
class VectorPerTile final : public FieldInterpolator<D> {
public:
  explicit VectorPerTile(const Parameters&) {}

  std::string name() const override { return description().name; }
  bool runsOn(DeviceKind kind) const override { return kind == DeviceKind::cpu; }
  std::string refusal(const AlignedField<D>& field) const override { return refusalOfCubicTiles(field); }
  void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                     const FieldTarget&) const override;

  static const ComponentDescription& description();
};

}
