#include "Components/Transforms/Shared/BSplineDisplacement.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t blockSize = 512;       // points that are handled at once
constexpr std::ptrdiff_t lineCapacity = 256; // control points of a line
// Points; a line of control points costs about as much as so many points alone.
constexpr std::size_t shortestRun = 6;

/// The continuous indices at which the supports of a block of points begin.
template <int D>
struct Starts {
  double x[D][blockSize];

  TESSERA_ALWAYS_INLINE void at(std::size_t i, double (&start)[D]) const
  {
    for (int d = 0; d < D; ++d)
      start[d] = x[d][i];
  }
};

/// Finds the starts for the points of a batch. Axes have loops of their own, so that only the last one wraps.
template <int D, int Order>
TESSERA_ALWAYS_INLINE void findStarts(const SupportFinder<D>& finder, const ListSamples<D>& samples,
                                      std::size_t first, std::size_t count, Starts<D>& starts)
{
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < count; ++i)
      starts.x[d][i] = gridIndex<D, Order>(finder, samples, first + i, d);
  if (finder.cyclic)
    for (std::size_t i = 0; i < count; ++i)
      starts.x[D - 1][i] = wrappedTo(static_cast<double>(finder.slices), starts.x[D - 1][i]);
}

/// same[i]: whether point i differs from point i - 1 along the grid's first axis alone, to the last bit.
template <int D>
TESSERA_ALWAYS_INLINE void findRuns(const Starts<D>& starts, std::size_t count, std::int32_t* same)
{
  same[0] = 0;
  for (std::size_t i = 1; i < count; ++i) {
    std::int32_t equal = 1;
    for (int d = 1; d < D; ++d)
      equal &= starts.x[d][i] == starts.x[d][i - 1] ? 1 : 0;
    same[i] = equal;
  }
}

/// The displacement of point i; a point outside the valid region keeps its value.
template <int D, int Order>
TESSERA_ALWAYS_INLINE void displacePoint(const FieldView<D>& field, const Starts<D>& starts, std::size_t i,
                                         const double* coefficients, double (&u)[D][blockSize])
{
  constexpr int taps = Order + 1, middleTaps = Support<D, Order>::middleTaps;
  double start[D];
  starts.at(i, start);
  Support<D, Order> support;
  if (!supportFrom<D, Order>(field.finder, start, support))
    return;
  double wx[4] = {}, wm[std::max(taps, middleTaps)], wl[taps];
  bsplineWeights<Order, double>(support.distance[0], wx);
  middleWeights<D, Order>(support, wm);
  bsplineWeights<Order, double>(support.distance[D - 1], wl);
  const Row<taps> weightsX = loadRow<taps>(wx);
  for (int c = 0; c < field.components; ++c) {
    const double* const component = coefficients + c * field.points;
    Row<taps> sum{};
    for (int l = 0; l < taps; ++l) {
      Row<taps> slice = loadRow<taps>(component + support.row(field.finder, 0, l)) * wm[0];
      for (int m = 1; m < middleTaps; ++m)
        slice += loadRow<taps>(component + support.row(field.finder, m, l)) * wm[m];
      sum += slice * wl[l];
    }
    u[c][i] = sumOfRow<taps>(sum * weightsX);
  }
}

/// A line of control points along the first axis: their sums along the other axes, computed once for a run of
/// points that share them. The sums and their order are those of displacePoint.
template <int D, int Order>
struct WeighedLine {
  static constexpr int taps = Order + 1, middleTaps = Support<D, Order>::middleTaps;
  std::ptrdiff_t first = 0, count = 0;
  double values[D][lineCapacity];

  /// Computes the line for all supports that begin in [firstStart, lastStart]; `support` is one of them.
  TESSERA_ALWAYS_INLINE void weigh(const FieldView<D>& field, const double* coefficients,
                                   const Support<D, Order>& support, std::ptrdiff_t firstStart,
                                   std::ptrdiff_t lastStart)
  {
    first = firstStart;
    count = lastStart - firstStart + taps;
    double wm[std::max(taps, middleTaps)], wl[taps];
    middleWeights<D, Order>(support, wm);
    bsplineWeights<Order, double>(support.distance[D - 1], wl);
    for (int c = 0; c < field.components; ++c) {
      const double* const from = coefficients + c * field.points - support.start[0] + firstStart;
      for (std::ptrdiff_t k = 0; k < count; ++k) {
        double sum = 0;
        for (int l = 0; l < taps; ++l) {
          double slice = from[support.row(field.finder, 0, l) + k] * wm[0];
          for (int m = 1; m < middleTaps; ++m)
            slice += from[support.row(field.finder, m, l) + k] * wm[m];
          sum += slice * wl[l];
        }
        values[c][k] = sum;
      }
    }
  }
};

/// Sums the points [begin, end) of one cell, each over its row, in the order of sumOfRow.
template <int Taps>
TESSERA_ALWAYS_INLINE void sumInCell(const double* row, const double (&weights)[Taps][blockSize],
                                     std::size_t begin, std::size_t end, double* sums)
{
  for (std::size_t i = begin; i < end; ++i) {
    if constexpr (Taps == 2)
      sums[i] = row[0] * weights[0][i] + row[1] * weights[1][i];
    else if constexpr (Taps == 3)
      sums[i] = (row[0] * weights[0][i] + row[2] * weights[2][i]) + row[1] * weights[1][i];
    else
      sums[i] = (row[0] * weights[0][i] + row[2] * weights[2][i])
                + (row[1] * weights[1][i] + row[3] * weights[3][i]);
  }
}

/// Computes points [begin, begin + count) of a run from one line. Returns false if the run is too short to
/// gain from it.
template <int D, int Order>
TESSERA_ALWAYS_INLINE bool displaceRun(const FieldView<D>& field, const Starts<D>& starts, std::size_t begin,
                                       std::size_t count, const double* coefficients,
                                       WeighedLine<D, Order>& line, double (&u)[D][blockSize])
{
  constexpr int taps = Order + 1;
  const double limit = field.finder.startLimit[0];
  double least = limit, most = -1;
  std::size_t within = begin;
  for (std::size_t i = begin; i < begin + count; ++i) {
    const double x = starts.x[0][i];
    const bool inside = x >= 0 && x < limit;
    least = inside && x < least ? x : least;
    most = inside && x > most ? x : most;
    within = inside ? i : within;
  }
  double start[D];
  starts.at(within, start);
  Support<D, Order> support;
  if (!supportFrom<D, Order>(field.finder, start, support))
    return true; // no point is inside
  const auto firstStart = static_cast<std::ptrdiff_t>(least), lastStart = static_cast<std::ptrdiff_t>(most);
  if (lastStart - firstStart + taps > std::min(lineCapacity, static_cast<std::ptrdiff_t>(count)))
    return false;
  line.weigh(field, coefficients, support, firstStart, lastStart);
  std::int32_t at[blockSize]; // where the supports begin on the line
  double distance[blockSize], kept[blockSize], weights[taps][blockSize];
  const double* const x = starts.x[0] + begin;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t inside = x[i] >= 0 && x[i] < limit ? 1 : 0;
    const double start = inside ? x[i] : least;
    const auto floored = static_cast<std::int32_t>(start);
    distance[i] = start - static_cast<double>(floored) + firstKnotOffset<Order>();
    kept[i] = inside ? 1.0 : 0.0;
    at[i] = floored - static_cast<std::int32_t>(firstStart);
  }
  for (std::size_t i = 0; i < count; ++i) {
    double w[taps];
    bsplineWeights<Order, double>(distance[i], w);
    for (int k = 0; k < taps; ++k)
      weights[k][i] = w[k] * kept[i];
  }
  for (std::size_t i = 0, end = 0; i < count; i = end) {
    for (end = i + 1; end < count && at[end] == at[i];)
      ++end;
    for (int c = 0; c < field.components; ++c)
      sumInCell<taps>(line.values[c] + at[i], weights, i, end, u[c] + begin);
  }
  return true;
}

template <int D, int Order>
TESSERA_MULTIVERSION void displaceBlock(const FieldView<D>& field, const ListSamples<D>& samples,
                                        std::size_t first, std::size_t count, const double* coefficients,
                                        double (&u)[D][blockSize])
{
  // A copy, because the compiler must assume that output arrays overlap the original.
  const FieldView<D> view = field;
  Starts<D> starts;
  findStarts<D, Order>(view.finder, samples, first, count, starts);
  for (int d = 0; d < D; ++d)
    std::fill_n(u[d], count, 0.0);
  const auto displaceAlone = [&](std::size_t begin, std::size_t end) __attribute__((always_inline))
  {
    for (; begin < end; ++begin)
      displacePoint<D, Order>(view, starts, begin, coefficients, u);
  };
  if constexpr (D == 4) { // lattices of series are rare
    displaceAlone(0, count);
  } else {
    WeighedLine<D, Order> line;
    std::int32_t same[blockSize];
    findRuns<D>(starts, count, same);
    std::size_t alone = 0; // points from here to the run belong to no run
    for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
      for (end = begin + 1; end < count && same[end];)
        ++end;
      if (end - begin >= shortestRun
          && displaceRun<D, Order>(view, starts, begin, end - begin, coefficients, line, u)) {
        displaceAlone(alone, begin);
        alone = end;
      }
    }
    displaceAlone(alone, count);
  }
}

}

template <int D, int Order>
void DisplaceBatch<D, Order>::run(const FieldView<D>& field, const ListSamples<D>& samples,
                                  const double* coefficients, bool addPoint, const PointsOut<D>& out)
{
  double u[D][blockSize];
  for (std::size_t first = 0; first < samples.count; first += blockSize) {
    const std::size_t count = std::min(blockSize, samples.count - first);
    displaceBlock<D, Order>(field, samples, first, count, coefficients, u);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < count; ++i)
        out[d][first + i] = addPoint ? samples.pointMm[d][first + i] + u[d][i] : u[d][i];
  }
}

template class DisplaceBatch<2, 1>;
template class DisplaceBatch<2, 2>;
template class DisplaceBatch<2, 3>;
template class DisplaceBatch<3, 1>;
template class DisplaceBatch<3, 2>;
template class DisplaceBatch<3, 3>;
template class DisplaceBatch<4, 1>;
template class DisplaceBatch<4, 2>;
template class DisplaceBatch<4, 3>;

}
