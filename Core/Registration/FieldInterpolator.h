#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Math/FieldAxis.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

/// A B-spline displacement field on a lattice whose axes run along those of the spline's grid: u(voxel) =
/// sum_k c_k prod_d beta(index_d - k_d). It is zero where the support of a voxel is not fully inside the
/// grid.
template <int D>
struct AlignedField {
  int order = 3; // 1 to 3
  std::array<FieldAxis, D> axes = {};
  Matrix<D> indexFromOffset{}; // d grid index / d point (1/mm); rows are grid axes, columns world axes

  std::size_t voxelCount() const
  {
    std::size_t count = 1;
    for (const FieldAxis& axis : axes)
      count *= static_cast<std::size_t>(axis.voxels);
    return count;
  }
  std::size_t pointCount() const
  {
    std::size_t count = 1;
    for (const FieldAxis& axis : axes)
      count *= static_cast<std::size_t>(axis.points);
    return count;
  }
  /// Slices [first, first + count) of the last axis, as a field of their own.
  AlignedField slab(int first, int count) const
  {
    AlignedField part = *this;
    part.axes[D - 1].first += axes[D - 1].step * first;
    part.axes[D - 1].voxels = count;
    return part;
  }
};

/// The coefficients: D * pointCount() values in mm, all of the first component (grid x fastest), then of the
/// second, and so on. They are in double precision on the CPU and in single precision on CUDA; the pointer
/// for the context's device is set.
struct FieldCoefficients {
  const double* onCpu = nullptr;
  const float* onCuda = nullptr;
};

/// The place of component c of voxel v among N components and V voxels.
enum class FieldLayout {
  planar,      // c * V + v
  interleaved, // v * N + c
};

/// Arrays on the context's device that receive a field. Bricks of voxels (of a size that the method chooses)
/// in which `mask` is 0 everywhere are not computed and keep their values.
struct FieldTarget {
  float* values = nullptr;
  FieldLayout layout = FieldLayout::planar;
  const std::uint8_t* mask = nullptr; // one a voxel; null: all voxels are computed
};

/// Evaluates aligned fields. Parameter files choose it by (FieldInterpolator "...").
template <int D>
class FieldInterpolator {
public:
  static constexpr const char* roleName = "FieldInterpolator";
  virtual ~FieldInterpolator() = default;

  virtual std::string name() const = 0;
  virtual bool runsOn(DeviceKind) const = 0;
  /// Empty if this method can evaluate the field; otherwise the reason why not, such as "a grid spacing
  /// of 5.37 voxels along x, not a whole number from 1 to 32".
  virtual std::string refusal(const AlignedField<D>&) const = 0;
  /// "auto" means the method of the highest rank that can evaluate the field. A method of rank 0 is never
  /// chosen.
  virtual int rankForAuto() const { return 0; }

  /// u in mm, D components.
  virtual void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                             const FieldTarget&) const = 0;

  /// Whether the two functions below are there; otherwise they throw Error(usage).
  virtual bool hasDerivatives() const { return false; }
  /// dT_row/dx_column of T(x) = x + u(x) as component row * D + column.
  virtual void jacobians(Context&, const AlignedField<D>&, const FieldCoefficients&,
                         const FieldTarget&) const;
  /// det dT/dx, one component.
  virtual void jacobianDeterminants(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                    const FieldTarget&) const;
};

/// The grid spacing in voxels along an axis if it is a whole number from 1 to 32 (within 1e-9 of it), 0
/// otherwise.
int wholeTile(const FieldAxis&);

/// The refusal of a method that needs whole tiles; empty if the field has them.
template <int D>
std::string refusalWithoutWholeTiles(const AlignedField<D>&);
/// The same, and the reason that the spline is not cubic.
template <int D>
std::string refusalOfCubicTiles(const AlignedField<D>& field)
{
  return field.order == 3 ? refusalWithoutWholeTiles(field)
                          : "a spline order of " + std::to_string(field.order) + ", not 3";
}

}
