#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// A grid of every f-th voxel along an axis, floor(n / f) of them but at least one, and the voxel of the
/// image with which it begins.
template <int D>
struct ShrunkGrid {
  ImageGeometry<D> geometry;
  Size<D> firstVoxel{};
};

/// The grid of itk::ShrinkImageFilter: both grids have the same centre, and the first voxel is the one
/// nearest to the new origin, half up. With even f the new origin lies between two voxels and rounding
/// decides; therefore ITK computes it here.
template <int D>
ShrunkGrid<D> shrunkGrid(const ImageGeometry<D>&, const Size<D>& factors);

/// The grid of itk::MultiResolutionPyramidImageFilter: its origin is at (f - 1) / 2 voxels, whatever the
/// remainder of n / f.
template <int D>
ImageGeometry<D> rescaledGeometry(const ImageGeometry<D>&, const Size<D>& factors);

}
