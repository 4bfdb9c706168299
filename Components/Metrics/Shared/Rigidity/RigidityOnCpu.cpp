#include "Components/Metrics/Shared/Rigidity/RigidityOnCpu.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t pointsAtOnce = 1024;

/// An axis of an array: `blocks` times `count` positions, `stride` apart, of `stride` numbers each.
struct ArrayAxis {
  std::size_t blocks = 1, count = 1, stride = 1;

  template <int D>
  ArrayAxis(const RigidityGrid<D>& grid, int axis) : count(grid.size[axis])
  {
    for (int d = 0; d < axis; ++d)
      stride *= grid.size[d];
    blocks = grid.pointCount() / (stride * count);
  }
};

/// to = factor * the filter that differentiates so often along the axis; the border is repeated.
TESSERA_MULTIVERSION void filterAlong(const ArrayAxis& axis, int derivatives, double factor,
                                      const double* from, double* to)
{
  const double before = factor * rigidityTap(derivatives, 0), here = factor * rigidityTap(derivatives, 1),
               after = factor * rigidityTap(derivatives, 2);
  const std::size_t s = axis.stride, last = (axis.count - 1) * s;
  for (std::size_t block = 0; block < axis.blocks; ++block, from += last + s, to += last + s) {
    for (std::size_t i = 0; i < s; ++i)
      to[i] = before * from[i] + here * from[i] + after * from[std::min(i + s, last + i)];
    for (std::size_t i = s; i < last; ++i)
      to[i] = before * from[i - s] + here * from[i] + after * from[i + s];
    for (std::size_t i = std::max(s, last); i < last + s; ++i)
      to[i] = before * from[i - s] + here * from[i] + after * from[i];
  }
}

/// Adds the adjoint of filterAlong with factor 1.
TESSERA_MULTIVERSION void addAdjointAlong(const ArrayAxis& axis, int derivatives, const double* from,
                                          double* to)
{
  const double before = rigidityTap(derivatives, 0), here = rigidityTap(derivatives, 1),
               after = rigidityTap(derivatives, 2);
  const std::size_t s = axis.stride, last = (axis.count - 1) * s;
  for (std::size_t block = 0; block < axis.blocks; ++block, from += last + s, to += last + s) {
    for (std::size_t i = 0; i < s; ++i)
      to[i] += before * from[i];
    for (std::size_t i = 0; i < last; ++i)
      to[i] += before * from[i + s] + here * from[i];
    for (std::size_t i = last; i < last + s; ++i)
      to[i] += here * from[i];
    for (std::size_t i = s; i < last + s; ++i)
      to[i] += after * from[i - s];
    for (std::size_t i = last; i < last + s; ++i)
      to[i] += after * from[i];
  }
}

/// Whether a filter differentiates as `orders` say along `axis` and the axes behind it.
template <int D>
bool fitsFrom(int axis, const std::array<int, D>& orders, int filter)
{
  for (int d = axis; d < D; ++d)
    if (derivativesAlong<D>(filter, d) != orders[d])
      return false;
  return true;
}

/// An array of this thread, for what is between two axes.
double* arrayBehind(int axis, std::size_t length)
{
  thread_local std::array<std::vector<double>, 3> arrays;
  arrays[axis].resize(length);
  return arrays[axis].data();
}

}

template <int D>
RigidityOnCpu<D>::RigidityOnCpu(const RigidityGrid<D>& grid)
    : grid_(grid), points_(grid.pointCount()), arrays_(D * rigidityCovectors<D> * points_),
      gradients_(D * rigidity::conditions * points_), sums_((points_ + pointsAtOnce - 1) / pointsAtOnce)
{
}

/// Takes an array that was filtered along the axes behind `axis` through all filters along the others.
template <int D>
void RigidityOnCpu<D>::filter(int component, int axis, Orders orders, const double* from)
{
  const int behind = std::accumulate(orders.begin() + axis + 1, orders.end(), 0);
  for (int derivatives = 0; derivatives + behind <= 2; ++derivatives) {
    orders[axis] = derivatives;
    if (axis > 0) {
      double* const between = arrayBehind(axis, points_);
      filterAlong(ArrayAxis(grid_, axis), derivatives, 1, from, between);
      filter(component, axis - 1, orders, between);
      continue;
    }
    for (int f = 0; f < rigidityFilters<D>; ++f)
      if (fitsFrom<D>(0, orders, f))
        filterAlong(ArrayAxis(grid_, 0), derivatives, grid_.factors[f], from, arrayOf(component, f));
  }
}

/// The adjoint: adds to `to` what the condition's covectors make of the axes up to `axis`, of all filters
/// that differentiate as `orders` say along the axes behind it.
template <int D>
void RigidityOnCpu<D>::pullBack(int component, int condition, int axis, Orders orders, double* to)
{
  for (int derivatives = 0; derivatives <= 2; ++derivatives) {
    orders[axis] = derivatives;
    for (int c = 0; c < rigidityCovectors<D>; ++c) {
      if (conditionOfCovector<D>(c) != condition || !fitsFrom<D>(axis, orders, filterOfCovector<D>(c)))
        continue;
      const double* from = arrayOf(component, c);
      if (axis > 0) {
        double* const between = arrayBehind(axis, points_);
        std::fill(between, between + points_, 0.0);
        pullBack(component, condition, axis - 1, orders, between);
        from = between;
      }
      addAdjointAlong(ArrayAxis(grid_, axis), derivatives, from, to);
      break; // it took all covectors of these orders
    }
  }
}

/// Sums over some control points; filtered values become covectors.
template <int D>
RigiditySums RigidityOnCpu<D>::sumPoints(std::size_t first, std::size_t last,
                                         std::span<const double> rigidities)
{
  constexpr int filters = rigidityFilters<D>, covectors = rigidityCovectors<D>;
  RigiditySums sums;
  for (std::size_t point = first; point < last; ++point) {
    double filtered[D][filters];
    for (int k = 0; k < D; ++k)
      for (int f = 0; f < filters; ++f)
        filtered[k][f] = arrayOf(k, f)[point];
    const RigidityAtPoint<D> at(filtered, grid_);
    for (int c = 0; c < rigidity::conditions; ++c)
      sums.ofPoints[c] += rigidities[point] * at.terms[c];
    sums.ofPoints[rigidity::conditions] += rigidities[point];
    for (int k = 0; k < D; ++k)
      for (int c = 0; c < covectors; ++c)
        arrayOf(k, c)[point] = rigidities[point] * grid_.factors[filterOfCovector<D>(c)] * at.covectors[k][c];
  }
  return sums;
}

template <int D>
RigiditySums RigidityOnCpu<D>::evaluate(Context& context, std::span<const double> coefficients,
                                        std::span<const double> rigidities, const RigidityWeights& weights,
                                        std::span<double> gradient)
{
  forEachChunk(context, 3 * D, [&](std::size_t chunk) { // those with most filters first
    const int component = static_cast<int>(chunk) % D, derivatives = static_cast<int>(chunk) / D;
    Orders orders{};
    orders[D - 1] = derivatives;
    double* const behind = arrayBehind(D - 1, points_);
    filterAlong(ArrayAxis(grid_, D - 1), derivatives, 1, coefficients.data() + component * points_, behind);
    filter(component, D - 2, orders, behind);
  });
  forEachRange(context, points_, pointsAtOnce, [&](std::size_t first, std::size_t last) {
    sums_[first / pointsAtOnce] = sumPoints(first, last, rigidities);
  });
  RigiditySums sums;
  for (const RigiditySums& ofPoints : sums_)
    for (int c = 0; c <= rigidity::conditions; ++c)
      sums.ofPoints[c] += ofPoints.ofPoints[c];
  if (gradient.empty())
    return sums;

  std::ranges::fill(gradients_, 0.0);
  forEachChunk(context, D * rigidity::conditions, [&](std::size_t chunk) {
    const int component = static_cast<int>(chunk) % D, condition = static_cast<int>(chunk) / D;
    pullBack(component, condition, D - 1, {}, gradientOf(component, condition));
  });
  forEachRange(context, points_, pointsAtOnce, [&](std::size_t first, std::size_t last) {
    RigiditySums& ofPoints = sums_[first / pointsAtOnce];
    for (int k = 0; k < D; ++k) {
      double* const to = gradient.data() + k * points_;
      std::fill(to + first, to + last, 0.0);
      for (int c = 0; c < rigidity::conditions; ++c) {
        const double factor = isRigidAnywhere(sums) ? weights[c] / sums.ofRigidity() : 0;
        for (std::size_t point = first; point < last; ++point) {
          const double slope = factor * gradientOf(k, c)[point];
          ofPoints.squares[c] += slope * slope;
          to[point] += slope;
        }
      }
    }
  });
  for (const RigiditySums& ofPoints : sums_)
    for (int c = 0; c < rigidity::conditions; ++c)
      sums.squares[c] += ofPoints.squares[c];
  return sums;
}

TESSERA_INSTANTIATE_CLASS(RigidityOnCpu);

}
