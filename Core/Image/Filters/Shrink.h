#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// A grid with every f-th voxel of an axis, floor(n / f) of them and at least one, and the voxel its first
/// one is taken from.
template <int D>
struct ShrunkGrid {
  ImageGeometry<D> geometry;
  Size<D> firstVoxel{};
};

/// As itk::ShrinkImageFilter: both grids have the same centre, and the first voxel is the nearest to the new
/// origin, halves rounded up. For even f the new origin lies between two voxels, and the rounding of ITK's
/// own geometry decides; so ITK computes it here.
template <int D>
ShrunkGrid<D> shrunkGrid(const ImageGeometry<D>&, const Size<D>& factors);

/// As itk::MultiResolutionPyramidImageFilter: origin at (f - 1) / 2 voxels, whatever remains of n / f.
template <int D>
ImageGeometry<D> rescaledGeometry(const ImageGeometry<D>&, const Size<D>& factors);

}
