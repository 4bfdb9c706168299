#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Math/FieldAxis.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

/// A B-spline displacement field on a lattice whose axes run along the grid's: u(voxel) = sum_k c_k prod_d
/// beta(index_d - k_d). Zero where the support of a voxel is not fully inside the grid.
template <int D>
struct AlignedField {
  int order = 3; // 1 to 3
  std::array<FieldAxis, D> axes;
  Matrix<D> indexFromOffset{}; // d grid index / d point (1/mm): rows are grid axes, columns the world's

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

/// D * pointCount() values in mm, all of the first component (grid x fastest), then of the second: in double
/// on the CPU, in single on CUDA. The one of the context's device is set.
struct FieldCoefficients {
  const double* onCpu = nullptr;
  const float* onCuda = nullptr;
};

/// Where component c of voxel v lies among N components and V voxels.
enum class FieldLayout {
  planar,      // c * V + v
  interleaved, // v * N + c
  padded,      // v * 4 + c, the rest zero; N <= 4
};

/// Arrays on the context's device. Bricks of voxels (of a size that the method chooses) in which `mask` is 0
/// everywhere are not computed and keep their values.
struct FieldTarget {
  float* values = nullptr;
  FieldLayout layout = FieldLayout::planar;
  const std::uint8_t* mask = nullptr; // one a voxel; null: all
};

/// Evaluates aligned fields; (FieldInterpolator "...").
template <int D>
class FieldInterpolator {
public:
  static constexpr const char* roleName = "FieldInterpolator";
  virtual ~FieldInterpolator() = default;

  virtual std::string name() const = 0;
  virtual bool runsOn(DeviceKind) const = 0;
  /// Empty if this method can serve the field, otherwise why not: "a grid spacing of 5.37 voxels along x, not
  /// a whole number from 1 to 32".
  virtual std::string refusal(const AlignedField<D>&) const = 0;
  /// "auto" means the method of the highest rank that serves; never one of rank 0.
  virtual int rankForAuto() const { return 0; }

  /// u in mm, D components.
  virtual void displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,
                             const FieldTarget&) const = 0;

  /// Whether the two below are there; otherwise they throw Error(usage).
  virtual bool hasDerivatives() const { return false; }
  /// dT_row/dx_column of T(x) = x + u(x) as component row * D + column. Not in the padded layout.
  virtual void jacobians(Context&, const AlignedField<D>&, const FieldCoefficients&,
                         const FieldTarget&) const;
  /// det dT/dx, one component.
  virtual void jacobianDeterminants(Context&, const AlignedField<D>&, const FieldCoefficients&,
                                    const FieldTarget&) const;
};

/// The grid spacing in voxels along an axis if it is a whole number from 1 to 32 (within 1e-9 of it), 0
/// otherwise.
int wholeTile(const FieldAxis&);

/// Refusal of methods that need whole tiles, and of those that need a cubic.
template <int D>
std::string refusalWithoutWholeTiles(const AlignedField<D>&);

}
