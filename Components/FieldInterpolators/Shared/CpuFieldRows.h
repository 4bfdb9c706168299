#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera {

/// Consecutive voxels of an axis that the same control points carry.
struct AxisRun {
  int firstVoxel;
  int voxels;
  int start; // the first of those control points; noSupport outside the valid region

  static constexpr int noSupport = -1;
  bool inside() const { return start != noSupport; }
};

/// The voxels of one axis in runs, with their weights: tap k of voxel i at k * stride + i. The rows are
/// longer than the axis, so that a vector may be read from any voxel.
struct AxisTable {
  static constexpr int padding = 32;

  AxisTable(const FieldAxis&, int order, bool withDerivatives);
  /// One voxel carried by one point with weight 1: the missing axis of a plane.
  static AxisTable single();

  int taps, voxels, points, stride;
  std::vector<AxisRun> runs; // in the voxels' order, without gaps
  std::vector<int> starts;   // of every voxel
  std::vector<double> weights, derivatives;

private:
  AxisTable() = default;
};

/// Puts computed voxels where a target wants them.
class FieldWriter {
public:
  FieldWriter(const FieldTarget& target, std::size_t voxels, int components);

  bool planar() const { return target_.layout == FieldLayout::planar; }
  bool masked() const { return target_.mask; }
  /// In the planar layout.
  float* planarRow(int component, std::size_t voxel) const
  {
    return target_.values + component * voxels_ + voxel;
  }

  /// The first voxel from `voxel` on whose value begins a cache line of the target; `voxel` if none does or
  /// if it does not matter. `component` counts in the planar layout only.
  std::size_t fromLine(int component, std::size_t voxel) const;

  /// One component in the planar layout.
  void writeComponent(int component, std::size_t firstVoxel, std::size_t count, const float* row) const;

  /// rows[c][0 .. count) are the components of `count` voxels from `firstVoxel` on.
  void write(std::size_t firstVoxel, std::size_t count, const float* const* rows) const;

  /// Calls body(first, count), `first` counted from `firstVoxel`, for the parts of `count` voxels that are to
  /// be computed: bricks of `brick` voxels without a voxel of the mask are left out, neighbours are joined.
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

  /// Whether a voxel of these is in the mask.
  bool wants(std::size_t firstVoxel, std::size_t count) const;

  /// Makes what this thread wrote visible before it says that it is done.
  void finish() const;

private:
  void put(float* to, const float* from, std::size_t count) const;

  FieldTarget target_;
  std::size_t voxels_;
  int components_;
  bool streamed_; // past the cache: the field is larger than it
};

}
