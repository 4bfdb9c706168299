#pragma once

#include "Components/Transforms/BSplineGrid.h"

namespace tessera {

/// The lines of a transform parameter file that describe a grid: GridSize, GridIndex, GridSpacing, GridOrigin, GridDirection
/// (column-major), BSplineTransformSplineOrder, UseCyclicTransform.
template <int D>
std::vector<FileEntry> gridEntries(const BSplineGrid<D>& grid);

/// Reads them; a GridIndex other than 0 moves the origin. Throws Error(usage) for missing or meaningless values.
template <int D>
BSplineGrid<D> readGrid(const Parameters& transformFile);

}
