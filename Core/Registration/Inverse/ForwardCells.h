#pragma once

#include "Core/Registration/Transform.h"

#include <vector>

namespace tessera {

/// A lattice of points x of the fixed space and their images T(x), in which the cells are found whose images
/// may hold a point y of the moving space.
///
/// The lattice is the image of one in the moving space under the inverse of the linear part of T. It is
/// extended by more than T differs from its linear part, so that it holds the roots of all points of the
/// region.
template <int D>
class ForwardCells {
public:
  ForwardCells() = default;
  ForwardCells(Context&, const TransformChain<D>&, const AffineMap<D>& linearInverse,
               const ImageGeometry<D>& region);

  /// The centres (fixed space, mm) of the cells for which `pointMm` is in the box around the images of their
  /// corners, in the order of the cells.
  std::vector<Vec<D>> candidatesMm(const Vec<D>& pointMm) const;

private:
  struct Box {
    Vec<D> low, high;
    bool holds(const Vec<D>& pointMm) const;
    void add(const Vec<D>& pointMm);
    static Box empty();
  };
  static constexpr std::size_t cellsOfBlock = D == 2 ? 32 : 8; // along each axis
  Size<D> cellCounts() const;
  Box boxOfCell(const Size<D>& cell) const;
  template <class Visit>
  void forEachCellOf(std::size_t block, Visit&&) const;

  ImageGeometry<D> lattice_; // in the moving space
  AffineMap<D> linearInverse_;
  std::vector<Vec<D>> imagesMm_; // T at the points of the lattice
  Size<D> blockCounts_{};
  std::vector<Box> blocks_;
};

}
