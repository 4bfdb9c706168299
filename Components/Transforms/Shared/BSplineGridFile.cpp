#include "Components/Transforms/Shared/BSplineGridFile.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double noDefault = std::numeric_limits<double>::quiet_NaN();

const Parameter<std::int64_t> gridSize = integerParameter(
    "GridSize", 1, 1, Arity::perDimension, "control points", "control points along each axis of the grid");
const Parameter<std::int64_t> gridIndex =
    integerParameter("GridIndex", 0, std::numeric_limits<std::int32_t>::min(), Arity::perDimension, "",
                     "index of the first control point");
const Parameter<double> gridSpacing = realParameter("GridSpacing", noDefault, Arity::perDimension, "mm",
                                                    "distance of control points along each axis of the grid");
const Parameter<double> gridOrigin =
    realParameter("GridOrigin", noDefault, Arity::perDimension, "mm", "point of the index 0");
const Parameter<double> gridDirection =
    realParameter("GridDirection", noDefault, Arity::list, "",
                  "unit vectors of the grid's axes, one after the other; without it the world's");

/// Exactly one value for each axis, or none if the parameter is optional and absent.
template <int D, class T>
std::vector<T> axisValues(const Parameters& file, const Parameter<T>& parameter, bool required)
{
  std::vector<T> values = file.all(parameter);
  if (values.size() != D && (required || !values.empty()))
    file.fail(parameter.name, values.empty() ? "not given" : std::to_string(values.size()) + " values",
              "Allowed: " + std::to_string(D) + " values");
  return values;
}

template <int D>
Matrix<D> readDirection(const Parameters& file)
{
  const std::vector<double> values = file.all(gridDirection);
  if (values.empty())
    return identityMatrix<D>();
  if (values.size() != D * D)
    file.fail(gridDirection.name, std::to_string(values.size()) + " values",
              "Allowed: " + std::to_string(D * D) + " values");
  Matrix<D> direction;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      direction[row][column] = values[column * D + row];
  if (!(std::abs(determinant(direction)) > 1e-6))
    file.fail(gridDirection.name, "the axes do not span the space", "Allowed: orthogonal unit vectors");
  return direction;
}

}

namespace bsplineparameters {

Parameter<std::int64_t> splineOrder()
{
  return integerParameter("BSplineTransformSplineOrder", 3, 1, Arity::single, "", "order of the spline")
      .atMost(3);
}

Parameter<bool> useCyclicTransform()
{
  return booleanParameter("UseCyclicTransform", false, Arity::single,
                          "the last axis is periodic (time); nothing moves along it");
}

}

template <int D>
std::vector<FileEntry> gridEntries(const BSplineGrid<D>& grid)
{
  FileEntry size{"GridSize", {}, {}}, index{"GridIndex", {}, {}}, spacing{"GridSpacing", {}, {}},
      origin{"GridOrigin", {}, {}}, direction{"GridDirection", {}, {}};
  for (int d = 0; d < D; ++d) {
    size.numbers.push_back(static_cast<double>(grid.points.size[d]));
    index.numbers.push_back(0);
    spacing.numbers.push_back(grid.points.spacingMm[d]);
    origin.numbers.push_back(grid.points.originMm[d]);
    for (int row = 0; row < D; ++row)
      direction.numbers.push_back(grid.points.direction[row][d]);
  }
  return {size,
          index,
          spacing,
          origin,
          direction,
          {bsplineparameters::splineOrder().name, {}, {static_cast<double>(grid.order)}},
          {bsplineparameters::useCyclicTransform().name, {grid.cyclic ? "true" : "false"}, {}}};
}

template <int D>
BSplineGrid<D> readGrid(const Parameters& file)
{
  const std::vector<std::int64_t> size = axisValues<D>(file, gridSize, true);
  const std::vector<std::int64_t> index = axisValues<D>(file, gridIndex, false);
  const std::vector<double> spacing = axisValues<D>(file, gridSpacing, true);
  const std::vector<double> origin = axisValues<D>(file, gridOrigin, true);

  std::int64_t points = 1;
  for (const std::int64_t count : size)
    if (constexpr std::int64_t most = std::int64_t(1) << 40; // their product must not overflow
        __builtin_mul_overflow(points, count, &points) || points > most)
      file.fail(gridSize.name, "more control points than memory holds", "Allowed: a grid of fewer");
  BSplineGrid<D> grid;
  grid.points.direction = readDirection<D>(file);
  Vec<D> firstFromOriginMm{};
  for (int d = 0; d < D; ++d) {
    grid.points.size[d] = static_cast<std::size_t>(size[d]);
    grid.points.spacingMm[d] = spacing[d];
    if (!(spacing[d] > 0))
      file.fail(gridSpacing.name, "not above 0", "Allowed: distances above 0");
    grid.points.originMm[d] = origin[d];
    if (!index.empty())
      firstFromOriginMm[d] = static_cast<double>(index[d]) * spacing[d];
  }
  grid.points.originMm = AffineMap<D>{grid.points.direction, grid.points.originMm}(firstFromOriginMm);
  grid.order = static_cast<int>(file.get(bsplineparameters::splineOrder()));
  grid.cyclic = file.get(bsplineparameters::useCyclicTransform());
  if (grid.cyclic && size[D - 1] <= grid.order)
    file.fail(gridSize.name, "too few control points along the cyclic last axis",
              "Allowed: at least " + std::to_string(grid.order + 1));
  return grid;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(gridEntries<D>, readGrid<D>);

}
