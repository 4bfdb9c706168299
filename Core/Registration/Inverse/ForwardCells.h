#pragma once

#include "Core/Registration/Inverse/CellsOfImages.h"
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
  static constexpr std::size_t maxPoints = std::size_t(1) << 21; // of a lattice: 50 MB, 0.3 s of one thread

  ForwardCells() = default;
  ForwardCells(Context&, const TransformChain<D>&, const AffineMap<D>& linearInverse,
               const ImageGeometry<D>& region);

  /// The lattice in the moving space for a region, where T differs from its linear part by at most
  /// `largestMm` along an axis.
  static ImageGeometry<D> latticeOver(const ImageGeometry<D>& region, double largestMm);
  /// The cells of a lattice without their numbers.
  static CellsOfImages<D> cellsOf(const ImageGeometry<D>& lattice, const AffineMap<D>& linearInverse);

  /// The centres (fixed space, mm) of the cells for which `pointMm` is in the box around the images of their
  /// corners, in the order of the cells.
  std::vector<Vec<D>> candidatesMm(const Vec<D>& pointMm) const;

private:
  CellsOfImages<D> cells() const
  {
    CellsOfImages<D> cells = shape_;
    cells.imagesMm = imagesMm_.data();
    cells.boxes = boxes_.data();
    return cells;
  }

  CellsOfImages<D> shape_; // without numbers
  std::vector<Vec<D>> imagesMm_;
  std::vector<PointBox<D>> boxes_;
};

}
