#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera {

/// Consecutive voxels of an axis with the same control points in their support.
struct AxisRun {
  int firstVoxel;
  int voxels;
  int start; // the first control point of the support; noSupport outside of the valid region

  static constexpr int noSupport = -1;
  bool inside() const { return start != noSupport; }
};

/// The voxels of one axis in runs, and their weights: the weight of tap k at voxel i is at k * stride + i.
/// Rows of weights are longer than the axis, so that a whole vector may be read from any voxel on.
struct AxisTable {
  static constexpr int padding = 32;

  AxisTable(const FieldAxis&, int order, bool withDerivatives);
  /// One voxel with one control point of weight 1, which stands for the missing axis in 2D.
  static AxisTable single();

  int taps, voxels, points, stride;
  std::vector<AxisRun> runs; // in the order of the voxels, without gaps
  std::vector<int> starts;   // first control point of every voxel
  std::vector<double> weights, derivatives;

private:
  AxisTable() = default;
};

/// Writes computed voxels to a target in its layout.
class FieldWriter {
public:
  FieldWriter(const FieldTarget& target, std::size_t voxels, int components);

  bool planar() const { return target_.layout == FieldLayout::planar; }
  bool masked() const { return target_.mask; }
  /// The place of a voxel in the planar layout.
  float* planarRow(int component, std::size_t voxel) const
  {
    return target_.values + component * voxels_ + voxel;
  }

  /// Writes `count` voxels of one component in the planar layout.
  void writeComponent(int component, std::size_t firstVoxel, std::size_t count, const float* row) const
  {
    std::copy_n(row, count, planarRow(component, firstVoxel));
  }

  /// Writes all components of `count` voxels from `firstVoxel` on, which are in rows[c][0 .. count).
  void write(std::size_t firstVoxel, std::size_t count, const float* const* rows) const;

  /// Calls body(first, count), with `first` relative to `firstVoxel`, for the parts of `count` voxels that
  /// must be computed. Bricks of `brick` voxels without a voxel of the mask are left out, and neighbouring
  /// bricks are joined.
  template <class Body>
  void forEachPart(std::size_t firstVoxel, std::size_t count, std::size_t brick, Body&& body) const
  {
    if (!target_.mask)
      return body(std::size_t(0), count);
    std::size_t begin = 0;
    for (std::size_t first = 0; first < count; first += brick) {
      const std::size_t last = first + brick < count ? first + brick : count;
      if (wants(firstVoxel + first, last - first))
        continue;
      if (begin < first)
        body(begin, first - begin);
      begin = last;
    }
    if (begin < count)
      body(begin, count - begin);
  }

  /// Whether the mask contains one of these voxels.
  bool wants(std::size_t firstVoxel, std::size_t count) const;

private:
  FieldTarget target_;
  std::size_t voxels_;
  int components_;
};

}
