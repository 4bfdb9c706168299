#pragma once

#include "Core/Registration/Inverse/RootSearch.h"

#include <cmath>

// The cells of ForwardCells, for the CPU and for kernels.
namespace tessera {

/// A box along the axes, mm.
template <int D>
struct PointBox {
  Vec<D> low, high;

  static TESSERA_HOST_DEVICE PointBox empty()
  {
    PointBox box;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      box.low[d] = HUGE_VAL;
      box.high[d] = -HUGE_VAL;
    }
    return box;
  }
  TESSERA_HOST_DEVICE bool holds(const Vec<D>& pointMm) const
  {
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      inside = inside && pointMm[d] >= low[d] && pointMm[d] <= high[d];
    return inside;
  }
  /// Coordinates that are no number are left out.
  TESSERA_HOST_DEVICE void add(const Vec<D>& pointMm)
  {
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      low[d] = smaller(pointMm[d], low[d]);
      high[d] = larger(pointMm[d], high[d]);
    }
  }
  TESSERA_HOST_DEVICE void add(const PointBox& other)
  {
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      low[d] = smaller(other.low[d], low[d]);
      high[d] = larger(other.high[d], high[d]);
    }
  }
};

/// The cells between the points of a lattice, as plain numbers in the memory of whoever searches in them.
/// Cells are counted block by block.
template <int D>
struct CellsOfImages {
  static constexpr int edgeOfBlock = D == 2 ? 32 : D == 3 ? 8 : 4; // in cells
  static constexpr int cellsOfBlock = D == 2 ? 1024 : D == 3 ? 512 : 256;
  using Place = std::array<int, D>;

  Place points{}; // of the lattice
  Place blocks{};
  AffineMap<D> fixedFromIndex;        // from the lattice's index
  const Vec<D>* imagesMm = nullptr;   // T at the points of the lattice
  const PointBox<D>* boxes = nullptr; // around the cells of each block

  TESSERA_HOST_DEVICE int blockCount() const
  {
    int count = 1;
    for (int d = 0; d < D; ++d)
      count *= blocks[d];
    return count;
  }
  /// Cell `number` of a block; false if it lies beyond the lattice.
  TESSERA_HOST_DEVICE bool cellAt(int block, int number, Place& cell) const
  {
    bool exists = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      cell[d] = block % blocks[d] * edgeOfBlock + number % edgeOfBlock;
      exists = exists && cell[d] + 1 < points[d];
      block /= blocks[d];
      number /= edgeOfBlock;
    }
    return exists;
  }
  /// The box around the images of a cell's corners. A curved cell may reach beyond its corners: the box is
  /// larger by a quarter of its edges.
  TESSERA_HOST_DEVICE PointBox<D> boxOf(const Place& cell) const
  {
    PointBox<D> box = PointBox<D>::empty();
    TESSERA_UNROLL
    for (int corner = 0; corner < 1 << D; ++corner) {
      int point = 0, stride = 1;
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d) {
        point += (cell[d] + (corner >> d & 1)) * stride;
        stride *= points[d];
      }
      box.add(imagesMm[point]);
    }
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const double marginMm = 0.25 * (box.high[d] - box.low[d]);
      box.low[d] -= marginMm;
      box.high[d] += marginMm;
    }
    return box;
  }
  /// The centre of a cell, in the fixed space.
  TESSERA_HOST_DEVICE Vec<D> centerMm(const Place& cell) const
  {
    Vec<D> center;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      center[d] = cell[d] + 0.5;
    return fixedFromIndex(center);
  }
};

}
