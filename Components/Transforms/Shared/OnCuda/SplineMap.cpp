#include "Components/Transforms/Shared/OnCuda/SplineMap.h"

#include "Components/Transforms/BSplineTransform.h"
#include "Core/Registration/Chain/OneSplineChain.h"

#include <algorithm>

namespace tessera {

template <int D>
std::optional<SplineMapOfChain<D>> asSplineMap(const TransformChain<D>& chain)
{
  const std::optional<OneSplineChain<D>> whole = asOneSpline<D>(chain);
  if (!whole || !whole->spline)
    return {};
  const BSplineGrid<D>& grid = static_cast<const BSplineTransform<D>&>(*whole->spline->transform).grid();
  if (grid.order != 3 || grid.cyclic)
    return {};
  SplineMapOfChain<D> result;
  const std::vector<double>& coefficientsMm = whole->spline->parameters;
  result.coefficientsMm.assign(coefficientsMm.begin(), coefficientsMm.end());
  double largestMm = 0, turn = 0;
  for (const double value : coefficientsMm)
    largestMm = std::max(largestMm, value == value ? std::abs(value) : HUGE_VAL);
  for (const auto& row : whole->turn)
    for (const double entry : row)
      turn += std::abs(entry);
  result.errorMm = 0x1p-20 * largestMm * turn;
  SplineMap<D>& map = result.map;
  map.linear = whole->linear;
  map.turn = whole->turn;
  map.gridIndex = compose(grid.points.indexFromPoint(), whole->toSpline);
  for (double& offset : map.gridIndex.offset)
    offset -= firstKnotOffset<3>();
  std::ranges::copy(grid.points.size, map.points.begin());
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS(asSplineMap<D>);

}
