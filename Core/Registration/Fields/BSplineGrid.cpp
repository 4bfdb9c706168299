#include "Core/Registration/Fields/BSplineGrid.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/BSplineKernel.h"
#include "Core/Compute/Math/Bounds.h"
#include "Core/Compute/Math/GridIndex.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/BSplinePrefilter.h"

#include <algorithm>

namespace tessera {
namespace {

/// Maps a batch and widens the bounds by the results, in coordinates along the image's axes.
template <int D>
void widen(Context& context, const TransformChain<D>& initial, const Matrix<D>& axesFromWorld,
           PointBatch<D>& batch, Bounds<D>& bounds)
{
  mapChain<D>(context, initial, batch.list(), batch.out());
  for (std::size_t i = 0; i < batch.count; ++i)
    bounds.add(apply<D>(axesFromWorld, batch.point(i)));
  batch.count = 0;
}

/// Calls visit(index) for every voxel that touches the image's border.
template <int D, class Visit>
void forEachBorderVoxel(const Size<D>& size, Visit&& visit)
{
  Size<D> index{};
  while (true) {
    bool borderRow = false;
    for (int d = 1; d < D; ++d)
      borderRow = borderRow || index[d] == 0 || index[d] + 1 == size[d];
    const std::size_t step = borderRow || size[0] < 3 ? 1 : size[0] - 1;
    for (index[0] = 0; index[0] < size[0]; index[0] += step)
      visit(index);
    int d = 1;
    while (d < D && ++index[d] == size[d])
      index[d++] = 0;
    if (d == D)
      return;
  }
}

}

template <int D>
GridBox<D> boxOfGrids(Context& context, const ImageGeometry<D>& fixed, const TransformChain<D>* initial)
{
  GridBox<D> box{fixed, {}};
  box.stretch.fill(1);
  if (!initial)
    return box;
  const AffineMap<D> pointFromIndex = fixed.pointFromIndex();
  const Matrix<D> axesFromWorld = inverse(fixed.direction);
  PointBatch<D> batch;
  Bounds<D> bounds;
  forEachBorderVoxel<D>(fixed.size, [&](const Size<D>& voxel) {
    for (int d = 0; d < D; ++d) {
      // The sums are in ITK's order. If the image is a whole number of grid spacings long, their rounding
      // decides whether elastix has one control point more.
      double coordinate = pointFromIndex.offset[d];
      for (int e = 0; e < D; ++e)
        coordinate += pointFromIndex.matrix[d][e] * static_cast<double>(voxel[e]);
      batch.mm[d][batch.count] = coordinate;
    }
    if (++batch.count == batchCapacity)
      widen<D>(context, *initial, axesFromWorld, batch, bounds);
  });
  if (batch.count > 0)
    widen<D>(context, *initial, axesFromWorld, batch, bounds);

  box.geometry.originMm = apply<D>(fixed.direction, bounds.low);
  for (int d = 0; d < D; ++d) {
    const double lengthMm = fixed.spacingMm[d] * (static_cast<double>(fixed.size[d]) - 1);
    if (lengthMm > 0)
      box.stretch[d] = (bounds.high[d] - bounds.low[d]) / lengthMm;
    box.geometry.spacingMm[d] = fixed.spacingMm[d] * box.stretch[d];
  }
  return box;
}

namespace {

constexpr double maxControlPoints = 1e9;

[[noreturn]] void failSpacing(double spacingMm, const std::string& wrong, const std::string& allowed)
{
  failAs(ExitCode::usage, "a grid spacing of " + std::to_string(spacingMm) + " mm", wrong, allowed);
}

}

template <int D>
BSplineGrid<D> gridOver(const ImageGeometry<D>& box, const Vec<D>& spacingMm, int order, bool cyclic)
{
  BSplineGrid<D> grid{{{}, spacingMm, {}, box.direction}, order, cyclic};
  Vec<D> fromBoxOriginMm; // in mm along the box's axes
  double pointCount = 1;
  for (int d = 0; d < D; ++d) {
    const double lengthMm = static_cast<double>(box.size[d]) * box.spacingMm[d];
    const bool wraps = cyclic && d == D - 1;
    const double points = wraps ? std::floor(static_cast<float>(lengthMm) / spacingMm[d])
                                : std::ceil(lengthMm / spacingMm[d]) + order;
    pointCount *= points;
    if (!(pointCount <= maxControlPoints))
      failSpacing(spacingMm[d], "more than 10^9 control points on this image", "a wider spacing");
    if (wraps && points < order + 1)
      failSpacing(spacingMm[d],
                  "fewer than " + std::to_string(order + 1) + " control points along the cyclic axis of "
                      + std::to_string(lengthMm) + " mm",
                  "a narrower spacing at every level");
    grid.points.size[d] = static_cast<std::size_t>(points);
    if (wraps)
      grid.points.spacingMm[d] = lengthMm / points;
    const double gridMm = (points - 1) * grid.points.spacingMm[d];
    fromBoxOriginMm[d] = -(gridMm - (static_cast<double>(box.size[d]) - 1) * box.spacingMm[d]) / 2;
  }
  grid.points.originMm = AffineMap<D>{box.direction, box.originMm}(fromBoxOriginMm);
  return grid;
}

namespace {

/// Where the new control points of one axis lie among the old ones.
struct AxisSampling {
  std::size_t oldSize = 0, newSize = 0;
  double scale = 1, offset = 0; // old index = scale * new index + offset
  bool wraps = false;
};

std::size_t wrapped(std::ptrdiff_t index, std::ptrdiff_t size)
{
  return static_cast<std::size_t>(((index % size) + size) % size);
}

template <int Order>
void tapsAt(const AxisSampling& axis, std::size_t newIndex, std::size_t* taps, double* weights)
{
  const double x = axis.scale * static_cast<double>(newIndex) + axis.offset;
  const auto oldSize = static_cast<std::ptrdiff_t>(axis.oldSize);
  const double first = std::floor(x - firstKnotOffset<Order>());
  bsplineWeights<Order, double>(x - first, weights);
  const bool outside = !axis.wraps && !(x >= -0.5 && x < static_cast<double>(oldSize) - 0.5);
  for (int k = 0; k <= Order; ++k) {
    const auto tap = static_cast<std::ptrdiff_t>(first) + k;
    taps[k] = axis.wraps
                  ? wrapped(tap, oldSize)
                  : static_cast<std::size_t>(mirrored(static_cast<int>(tap), static_cast<int>(oldSize) - 1));
    if (outside)
      weights[k] = 0;
  }
}

/// Evaluates lines of old values at the new control points of one axis; arrays are [outer][axis][inner].
template <int Order>
std::vector<double> sampleAlong(const Context& context, const AxisSampling& axis,
                                std::span<const double> values, std::size_t inner)
{
  struct Taps {
    std::size_t at[Order + 1];
    double weights[Order + 1];
  };
  constexpr std::size_t valuesOfChunk = 16384;
  std::vector<Taps> taps(axis.newSize);
  for (std::size_t i = 0; i < axis.newSize; ++i)
    tapsAt<Order>(axis, i, taps[i].at, taps[i].weights);
  const std::size_t rows = values.size() / (axis.oldSize * inner) * axis.newSize;
  std::vector<double> sampled(rows * inner, 0.0);
  forEachRange(context, rows, 1 + valuesOfChunk / inner, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      const Taps& own = taps[row % axis.newSize];
      double* to = sampled.data() + row * inner;
      for (int k = 0; k <= Order; ++k) {
        const double* from = values.data() + (row / axis.newSize * axis.oldSize + own.at[k]) * inner;
        for (std::size_t j = 0; j < inner; ++j)
          to[j] += own.weights[k] * from[j];
      }
    }
  });
  return sampled;
}

std::vector<double> sampleAlong(const Context& context, int order, const AxisSampling& axis,
                                std::span<const double> values, std::size_t inner)
{
  return withConstant<1, 3>(order,
                            [&]<int Order>() { return sampleAlong<Order>(context, axis, values, inner); });
}

// The decomposition mirrors at the ends. A cyclic axis is therefore extended by so many control points of its
// neighbouring periods at each end. The effect of the ends falls by a factor of 0.27 with each control point,
// so that it is below rounding in the middle.
constexpr std::size_t cyclicPadding = 32;

}

template <int D>
std::vector<double> refineCoefficients(const Context& context, const BSplineGrid<D>& from,
                                       const BSplineGrid<D>& to, std::span<const double> coefficients)
{
  const Context host = context.onCpu();
  if (std::ranges::all_of(coefficients, [](double coefficient) { return coefficient == 0; }))
    return std::vector<double>(to.parameterCount(), 0.0); // as where memory is planned
  const AffineMap<D> oldFromNew = compose(from.points.indexFromPoint(), to.points.pointFromIndex());
  const std::size_t padding = to.cyclic ? cyclicPadding : 0;
  Size<D> paddedSize = to.points.size;
  paddedSize[D - 1] += 2 * padding;

  std::vector<double> refined(to.parameterCount());
  // Each component of a small grid has a thread. Threads for its lines would take longer than the work.
  Context ofComponents = host, ofLines = host;
  (to.pointCount() < (1 << 18) ? ofLines : ofComponents).threads = 1;
  const auto refine = [&](std::size_t component, std::size_t) {
    std::vector<double> values;
    std::span<const double> along = coefficients.subspan(component * from.pointCount(), from.pointCount());
    std::size_t inner = 1;
    for (int d = 0; d < D; ++d) {
      const bool wraps = to.cyclic && d == D - 1;
      const double scale = oldFromNew.matrix[d][d];
      const double offset = oldFromNew.offset[d] - (wraps ? scale * static_cast<double>(padding) : 0);
      values = sampleAlong(ofLines, to.order, {from.points.size[d], paddedSize[d], scale, offset, wraps},
                           along, inner);
      along = values;
      inner *= paddedSize[d];
    }
    bsplineDecompose<D>(ofLines, values, paddedSize, to.order);
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(padding * (inner / paddedSize[D - 1])),
                to.pointCount(), refined.begin() + static_cast<std::ptrdiff_t>(component * to.pointCount()));
  };
  forEachRange(ofComponents, D, 1, refine);
  return refined;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(boxOfGrids<D>, gridOver<D>, refineCoefficients<D>);

}
