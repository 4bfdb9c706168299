#pragma once

#include "Core/Registration/Fields/BSplineGrid.h"

namespace tessera {

/// Parameters that occur both in parameter files and in transform parameter files.
namespace bsplineparameters {
Parameter<std::int64_t> splineOrder();
Parameter<bool> useCyclicTransform();
}

/// The lines of a transform parameter file that describe a grid: GridSize, GridIndex, GridSpacing,
/// GridOrigin, GridDirection (column-major), BSplineTransformSplineOrder, UseCyclicTransform.
template <int D>
std::vector<FileEntry> gridEntries(const BSplineGrid<D>& grid);

/// Reads these lines. A GridIndex other than 0 moves the origin. Throws Error(usage) for missing or
/// meaningless values.
template <int D>
BSplineGrid<D> readGrid(const Parameters& transformFile);

}
