#include "Components/Transforms/Shared/BSplineJacobianTerms.h"

#include "Components/Transforms/Shared/BSplineSupport.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

/// The samples whose support is inside the grid, sorted by the first control point of their support, so that
/// neighbours in this order use the same memory; and where the samples begin whose support begins in a given
/// slice.
struct SortedSamples {
  std::vector<std::uint32_t> sample;
  std::vector<std::size_t> sliceBegin; // slices + 1
};

template <int D, int Order>
SortedSamples sortByCell(const Context& context, const SupportFinder<D>& finder, std::size_t pointCount,
                         const ListSamples<D>& samples)
{
  constexpr std::uint32_t outside = ~std::uint32_t(0);
  std::vector<std::uint32_t> cellOf(samples.count);
  forEachRange(context, samples.count, 4096, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      Support<D, Order> support;
      std::ptrdiff_t cell = 0;
      const bool inside = findSupport<D, Order>(finder, samples, i, support);
      for (int d = 0; d < D && inside; ++d)
        cell += support.start[d] * finder.stride[d];
      cellOf[i] = inside ? static_cast<std::uint32_t>(cell) : outside;
    }
  });
  std::vector<std::size_t> begin(pointCount + 1, 0);
  for (const std::uint32_t cell : cellOf)
    if (cell != outside)
      ++begin[cell + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());

  SortedSamples sorted;
  for (std::size_t slice = 0; slice <= static_cast<std::size_t>(finder.slices); ++slice)
    sorted.sliceBegin.push_back(begin[slice * finder.stride[D - 1]]);
  sorted.sample.resize(begin.back());
  for (std::size_t i = 0; i < samples.count; ++i)
    if (cellOf[i] != outside)
      sorted.sample[begin[cellOf[i]]++] = static_cast<std::uint32_t>(i);
  return sorted;
}

/// The stored part of M. For each control point k (row of M) and each slot (by how many slices l lies further
/// along the last axis) there are the 2 order + 1 columns along x of 2 order + 1 rows along each middle axis
/// (of one row in 2D).
template <int D, int Order>
struct Bands {
  static constexpr int taps = Order + 1, width = 2 * Order + 1;
  static constexpr int middleTaps = Support<D, Order>::middleTaps;
  static constexpr int middleWidth = D == 2 ? 1 : D == 3 ? width : width * width;
  static constexpr std::size_t slotSize = std::size_t(width) * middleWidth;

  /// True for a short cyclic axis, where slices before and after coincide: each pair is stored as it comes.
  bool bothSides;
  std::ptrdiff_t slices;
  std::size_t slots;
  std::size_t pointSize; // values for each control point
  std::vector<double> values;

  Bands(const SupportFinder<D>& finder, std::size_t pointCount)
      : bothSides(finder.cyclic && finder.slices < width), slices(finder.slices),
        slots(bothSides ? static_cast<std::size_t>(finder.slices) : taps), pointSize(slots * slotSize),
        values(pointCount * pointSize)
  {
  }

  /// The first slice of the support that is paired with its slice k.
  int firstPartner(int k) const { return bothSides ? 0 : k; }
  std::size_t slot(const Support<D, Order>& support, int k, int l) const
  {
    if (!bothSides)
      return static_cast<std::size_t>(l - k);
    return static_cast<std::size_t>((support.slice[l] - support.slice[k] + slices) % slices);
  }
  /// How often a stored value occurs in M.
  double multiplicity(std::size_t slot) const { return bothSides || slot == 0 ? 1 : 2; }
};

/// Where the columns l = (first of the support, ...; middle l) are stored for row k = (x k, middle k) of M.
template <int D, int Order>
TESSERA_ALWAYS_INLINE std::size_t bandRow(int xOfK, int middleOfK, int middleOfL)
{
  using B = Bands<D, Order>;
  int between = middleOfL - middleOfK + (D == 2 ? 0 : Order);
  if constexpr (D == 4)
    between = (middleOfL / B::taps - middleOfK / B::taps + Order) * B::width + middleOfL % B::taps
              - middleOfK % B::taps + Order;
  return static_cast<std::size_t>(between * B::width + (Order - xOfK));
}

template <int D, int Order>
struct Weights {
  double x[Order + 1], middle[std::max(Order + 1, Support<D, Order>::middleTaps)], last[Order + 1];

  TESSERA_ALWAYS_INLINE explicit Weights(const Support<D, Order>& support)
  {
    bsplineWeights<Order, double>(support.distance[0], x);
    middleWeights<D, Order>(support, middle);
    bsplineWeights<Order, double>(support.distance[D - 1], last);
  }
};

/// Adds w_k w_l of one sample for the control points k of one slice of its support.
template <int D, int Order>
TESSERA_ALWAYS_INLINE void addSample(Bands<D, Order>& bands, const SupportFinder<D>& finder,
                                     const Support<D, Order>& support, int k)
{
  constexpr int taps = Order + 1, middleTaps = Support<D, Order>::middleTaps;
  const Weights<D, Order> w(support);
  const Row<taps> rowX = loadRow<taps>(w.x);
  for (int l = bands.firstPartner(k); l < taps; ++l) {
    const std::size_t slotOffset = bands.slot(support, k, l) * bands.slotSize;
    for (int mk = 0; mk < middleTaps; ++mk) {
      double* points = bands.values.data()
                       + static_cast<std::size_t>(support.row(finder, mk, k)) * bands.pointSize + slotOffset;
      for (int ml = 0; ml < middleTaps; ++ml) {
        const Row<taps> row = rowX * (w.last[k] * w.last[l] * w.middle[mk] * w.middle[ml]);
        for (int xk = 0; xk < taps; ++xk)
          addToRow<taps>(points + xk * bands.pointSize + bandRow<D, Order>(xk, mk, ml), row * w.x[xk]);
      }
    }
  }
}

/// Adds all samples that reach control points of `slice`. Each slice is written by one call alone, so that
/// threads need no locks.
template <int D, int Order>
TESSERA_MULTIVERSION void fillSlice(Bands<D, Order>& bands, const SupportFinder<D>& finder,
                                    const ListSamples<D>& samples, const SortedSamples& sorted,
                                    std::ptrdiff_t slice)
{
  for (int k = 0; k <= Order; ++k) {
    std::ptrdiff_t start = slice - k;
    if (start < 0 && finder.cyclic)
      start += finder.slices;
    if (start < 0)
      continue;
    for (std::size_t i = sorted.sliceBegin[start]; i < sorted.sliceBegin[start + 1]; ++i) {
      Support<D, Order> support;
      if (findSupport<D, Order>(finder, samples, sorted.sample[i], support))
        addSample<D, Order>(bands, finder, support, k);
    }
  }
}

struct Extremes {
  double jj = 0, jcj = 0;
};

/// The diagonal entries of J J^T (q) and J C J^T (r) for one component: sum w_k^2 / s_k, and sum (w_k / s_k)
/// M_kl (w_l / s_l).
template <int D, int Order>
TESSERA_ALWAYS_INLINE void quadraticForms(const Bands<D, Order>& bands, const SupportFinder<D>& finder,
                                          const Support<D, Order>& support, const double* inverseScales,
                                          double& q, double& r)
{
  constexpr int taps = Order + 1, middleTaps = Support<D, Order>::middleTaps;
  const Weights<D, Order> w(support);
  const Row<taps> rowX = loadRow<taps>(w.x);
  Row<taps> scaled[taps][middleTaps], squares{};
  for (int l = 0; l < taps; ++l)
    for (int m = 0; m < middleTaps; ++m) {
      const Row<taps> weights = rowX * (w.last[l] * w.middle[m]);
      scaled[l][m] = weights * loadRow<taps>(inverseScales + support.row(finder, m, l));
      squares += weights * scaled[l][m];
    }
  q = sumOfRow<taps>(squares);

  Row<taps> sum{};
  for (int k = 0; k < taps; ++k)
    for (int l = bands.firstPartner(k); l < taps; ++l) {
      const std::size_t slot = bands.slot(support, k, l);
      Row<taps> slotSum{};
      for (int mk = 0; mk < middleTaps; ++mk) {
        const double* points = bands.values.data()
                               + static_cast<std::size_t>(support.row(finder, mk, k)) * bands.pointSize
                               + slot * bands.slotSize;
        for (int ml = 0; ml < middleTaps; ++ml)
          for (int xk = 0; xk < taps; ++xk)
            slotSum += loadRow<taps>(points + xk * bands.pointSize + bandRow<D, Order>(xk, mk, ml))
                       * (scaled[l][ml] * scaled[k][mk][xk]);
      }
      sum += slotSum * bands.multiplicity(slot);
    }
  r = sumOfRow<taps>(sum);
}

/// The inverse scales of a component, and the number of components that share them.
struct ScaleGroup {
  std::vector<double> inverse;
  double components = 0;
};

template <int D, int Order>
TESSERA_MULTIVERSION Extremes largestTerms(const Bands<D, Order>& bands, const SupportFinder<D>& finder,
                                           const ListSamples<D>& samples,
                                           const std::vector<ScaleGroup>& groups, const std::uint32_t* first,
                                           const std::uint32_t* last, double sampleCount)
{
  Extremes largest;
  for (; first != last; ++first) {
    Support<D, Order> support;
    if (!findSupport<D, Order>(finder, samples, *first, support))
      continue;
    double traceJJ = 0, normJJ = 0, traceJCJ = 0, normJCJ = 0;
    for (const ScaleGroup& group : groups) {
      double q, r;
      quadraticForms<D, Order>(bands, finder, support, group.inverse.data(), q, r);
      r /= sampleCount;
      traceJJ += group.components * q;
      normJJ += group.components * q * q;
      traceJCJ += group.components * r;
      normJCJ += group.components * r * r;
    }
    largest.jj = std::max(largest.jj, traceJJ + 2 * std::sqrt(2.0) * std::sqrt(normJJ));
    largest.jcj = std::max(largest.jcj, traceJCJ + 2 * std::sqrt(2.0) * std::sqrt(normJCJ));
  }
  return largest;
}

struct SliceSums {
  double trace = 0, squares = 0;
};

/// The trace, times n, and the squared norm |.|_F^2, times n^2, of the rows of C that belong to one slice.
template <int D, int Order>
SliceSums sumSlice(const Bands<D, Order>& bands, const BSplineGrid<D>& grid, const ScaleGroup& group,
                   std::ptrdiff_t slice)
{
  using B = Bands<D, Order>;
  const auto sizeX = static_cast<std::ptrdiff_t>(grid.points.size[0]);
  const auto sizeY = D == 2 ? 1 : static_cast<std::ptrdiff_t>(grid.points.size[1]);
  const auto sizeM = D == 4 ? sizeY * static_cast<std::ptrdiff_t>(grid.points.size[2]) : sizeY;
  SliceSums sums;
  for (std::ptrdiff_t m = 0; m < sizeM; ++m)
    for (std::ptrdiff_t x = 0; x < sizeX; ++x) {
      const std::ptrdiff_t k = (slice * sizeM + m) * sizeX + x;
      const double* point = bands.values.data() + static_cast<std::size_t>(k) * bands.pointSize;
      sums.trace += point[bandRow<D, Order>(0, 0, 0)] * group.inverse[k];
      double pointSquares = 0;
      for (std::size_t slot = 0; slot < bands.slots; ++slot) {
        std::ptrdiff_t sliceOfL = slice + static_cast<std::ptrdiff_t>(slot);
        if (sliceOfL >= bands.slices)
          sliceOfL -= bands.slices; // beyond the grid's end M is zero; it is only cyclic grids that wrap
        double slotSquares = 0;
        for (std::ptrdiff_t between = 0; between < B::middleWidth; ++between) {
          const std::ptrdiff_t dy = D == 2 ? 0 : between % B::width - Order,
                               dz = D == 4 ? between / B::width - Order : 0, y = m % sizeY + dy,
                               ofL = m + dy + dz * sizeY;
          if (y < 0 || y >= sizeY || ofL < 0 || ofL >= sizeM)
            continue;
          const double* row = point + slot * B::slotSize + between * B::width + Order;
          const double* inverse = group.inverse.data() + (sliceOfL * sizeM + ofL) * sizeX + x;
          for (std::ptrdiff_t dx = std::max<std::ptrdiff_t>(-Order, -x);
               dx <= std::min<std::ptrdiff_t>(Order, sizeX - 1 - x); ++dx)
            slotSquares += row[dx] * row[dx] * inverse[dx];
        }
        pointSquares += bands.multiplicity(slot) * slotSquares;
      }
      sums.squares += pointSquares * group.inverse[k];
    }
  return sums;
}

template <int D>
std::vector<ScaleGroup> groupScales(const BSplineGrid<D>& grid, std::span<const double> scales)
{
  const std::size_t points = grid.pointCount();
  std::vector<ScaleGroup> groups;
  for (int d = 0; d < (grid.cyclic ? D - 1 : D); ++d) {
    ScaleGroup group{std::vector<double>(points), 1};
    for (std::size_t k = 0; k < points; ++k)
      group.inverse[k] = 1 / scales[d * points + k];
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const ScaleGroup& g) { return g.inverse == group.inverse; });
    if (same == groups.end())
      groups.push_back(std::move(group));
    else
      same->components += 1;
  }
  return groups;
}

template <int D, int Order>
JacobianTerms termsOf(const Context& context, const BSplineGrid<D>& grid, const ListSamples<D>& samples,
                      std::span<const double> scales)
{
  const SupportFinder<D> finder(grid);
  const auto slices = static_cast<std::size_t>(finder.slices);
  const auto n = static_cast<double>(samples.count);
  const SortedSamples sorted = sortByCell<D, Order>(context, finder, grid.pointCount(), samples);
  const std::vector<ScaleGroup> groups = groupScales(grid, scales);

  Bands<D, Order> bands(finder, grid.pointCount());
  forEachChunk(context, slices, [&](std::size_t slice) {
    fillSlice<D, Order>(bands, finder, samples, sorted, static_cast<std::ptrdiff_t>(slice));
  });

  JacobianTerms terms;
  for (const ScaleGroup& group : groups) {
    std::vector<SliceSums> sums(slices);
    forEachChunk(context, slices, [&](std::size_t slice) {
      sums[slice] = sumSlice<D, Order>(bands, grid, group, static_cast<std::ptrdiff_t>(slice));
    });
    for (const SliceSums& slice : sums) {
      terms.traceC += group.components * slice.trace / n;
      terms.frobeniusC2 += group.components * slice.squares / (n * n);
    }
  }

  constexpr std::size_t rangeSize = 1024;
  std::vector<Extremes> largest((sorted.sample.size() + rangeSize - 1) / rangeSize);
  forEachRange(context, sorted.sample.size(), rangeSize, [&](std::size_t first, std::size_t last) {
    const std::uint32_t* list = sorted.sample.data();
    largest[first / rangeSize] =
        largestTerms<D, Order>(bands, finder, samples, groups, list + first, list + last, n);
  });
  for (const Extremes& range : largest) {
    terms.maxJJ = std::max(terms.maxJJ, range.jj);
    terms.maxJCJ = std::max(terms.maxJCJ, range.jcj);
  }
  return terms;
}

}

template <int D>
JacobianTerms bsplineJacobianTerms(const Context& context, const BSplineGrid<D>& grid,
                                   const ListSamples<D>& samples, std::span<const double> scales)
{
  if (samples.count == 0)
    return {};
  return withConstant<1, 3>(grid.order,
                            [&]<int Order>() { return termsOf<D, Order>(context, grid, samples, scales); });
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(bsplineJacobianTerms<D>);

}
