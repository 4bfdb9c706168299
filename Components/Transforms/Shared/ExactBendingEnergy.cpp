#include "Components/Transforms/Shared/ExactBendingEnergy.h"

#include "Components/Transforms/Shared/BendingEnergyPlan.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

constexpr int neighbours = BendingBands::neighbours, perPoint = BendingBands::perPoint,
              reach = neighbours / 2;

/// The Gauss-Legendre rule on [-1, 1] with four nodes, which is exact for products of two cubics.
constexpr int nodeCount = 4;
constexpr double nodes[nodeCount] = {-0.86113631159405257522, -0.33998104358485626480, 0.33998104358485626480,
                                     0.86113631159405257522};
constexpr double nodeWeights[nodeCount] = {0.34785484513745385737, 0.65214515486254614263,
                                           0.65214515486254614263, 0.34785484513745385737};

/// Adds weight * beta^(p)(x - i) beta^(p)(x - j) for all control points i, j in whose support x lies; x -
/// start = distance.
template <int Order>
void addProducts(int start, double distance, double weight, std::vector<double>& bands)
{
  double values[3][Order + 1];
  bsplineWeights<Order, double>(distance, values[0]);
  bsplineDerivatives<Order, double>(distance, values[1]);
  bsplineSecondDerivatives<Order, double>(distance, values[2]);
  for (int p = 0; p < 3; ++p)
    for (int i = 0; i <= Order; ++i)
      for (int j = 0; j <= Order; ++j)
        bands[(start + i) * perPoint + p * neighbours + j - i + reach] +=
            weight * values[p][i] * values[p][j];
}

void addProducts(int order, int start, double distance, double weight, std::vector<double>& bands)
{
  if (order == 2)
    addProducts<2>(start, distance, weight, bands);
  else
    addProducts<3>(start, distance, weight, bands);
}

/// to[i] += factor * sum_m band[i][m] from[i + m], where each element stands for `inner` consecutive values.
void addBands(const BendingBands& bands, int derivative, double factor, const double* from, double* to,
              std::size_t inner)
{
  for (int i = 0; i < bands.points; ++i) {
    const double* row = bands.values.data() + i * perPoint + derivative * neighbours + reach;
    double* sum = to + i * inner;
    for (int m = std::max(-reach, -i); m <= reach && i + m < bands.points; ++m) {
      const double weight = factor * row[m];
      const double* at = from + (i + m) * inner;
      for (std::size_t x = 0; x < inner; ++x)
        sum[x] += weight * at[x];
    }
  }
}

[[noreturn]] void refuse(const std::string& what, const std::string& allowed)
{
  failAs(ExitCode::usage, "exact bending energy", what, allowed);
}

template <int D>
void requireSpline(const BSplineGrid<D>& grid)
{
  if (grid.cyclic)
    refuse("a cyclic grid: its last axis wraps",
           "grids that do not, or (BendingEnergyIntegration \"Sampled\")");
  if (grid.order < 2)
    refuse("a spline of order 1: it has no second derivatives",
           "order 2 or 3, or (BendingEnergyIntegration \"Sampled\")");
}

double validLow(int order)
{
  return (order - 1) / 2.0;
}
double validHigh(int order, std::size_t points)
{
  return static_cast<double>(points) - 1 - (order - 1) / 2.0;
}

/// Turns derivatives by the grid index into derivatives by mm.
void divideBySpacing(double spacingMm, std::vector<double>& bands)
{
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const auto derivative = static_cast<int>(i % perPoint / neighbours);
    bands[i] /= std::pow(spacingMm, 2 * derivative);
  }
}

/// Where the voxels of an image lie in a grid along the same axes, in control points.
template <int D>
struct VoxelsInGrid {
  Vec<D> first{}, step{};
  double turn = 0; // largest difference between entries of the two directions

  VoxelsInGrid(const BSplineGrid<D>& grid, const ImageGeometry<D>& image)
  {
    const Matrix<D> relative = multiply<D>(transpose<D>(grid.points.direction), image.direction),
                    none = identityMatrix<D>();
    Vec<D> fromOriginMm;
    for (int d = 0; d < D; ++d) {
      fromOriginMm[d] = image.originMm[d] - grid.points.originMm[d];
      for (int e = 0; e < D; ++e)
        turn = std::max(turn, std::abs(relative[d][e] - none[d][e]));
    }
    const Vec<D> alongGridMm = apply<D>(transpose<D>(grid.points.direction), fromOriginMm);
    for (int d = 0; d < D; ++d) {
      first[d] = alongGridMm[d] / grid.points.spacingMm[d];
      step[d] = image.spacingMm[d] / grid.points.spacingMm[d];
    }
  }
};

}

BendingBands BendingBands::over(double low, double high, int points, int order, double spacingMm)
{
  constexpr double pointLike = 1e-9;
  const double half = validLow(order), length = high - low;
  BendingBands bands{points, 0, -1, std::vector<double>(static_cast<std::size_t>(points) * perPoint)};
  const int firstCell = std::clamp(static_cast<int>(std::floor(low - half)), 0, points - order - 1);
  if (length < pointLike) {
    addProducts(order, firstCell, low - firstCell, 1, bands.values);
  } else {
    for (int cell = firstCell; cell < points - order && cell + half < high; ++cell) {
      const double begin = std::max(low - cell, half), end = std::min(high - cell, half + 1);
      const double middle = (begin + end) / 2, radius = (end - begin) / 2;
      for (int n = 0; n < nodeCount; ++n)
        addProducts(order, cell, middle + radius * nodes[n], nodeWeights[n] * radius / length, bands.values);
    }
    bands.firstWhole = static_cast<int>(std::ceil(low + half + 1));
    bands.lastWhole = static_cast<int>(std::floor(high - half - 1));
  }
  divideBySpacing(spacingMm, bands.values);
  return bands;
}

std::optional<BendingBands> BendingBands::at(double first, double step, std::size_t count, int points,
                                             int order, double spacingMm)
{
  constexpr double nearBorder = 1e-6; // in control points
  const double half = validLow(order), cells = points - order;
  BendingBands bands{points, 0, -1, std::vector<double>(static_cast<std::size_t>(points) * perPoint)};
  for (std::size_t n = 0; n < count; ++n) {
    const double cell = first + step * static_cast<double>(n) - half;
    if (std::abs(cell) < nearBorder || std::abs(cell - cells) < nearBorder)
      return {};
    if (!(cell > 0 && cell < cells))
      continue;
    const int start = static_cast<int>(cell);
    addProducts(order, start, cell + half - start, 1 / static_cast<double>(count), bands.values);
  }
  divideBySpacing(spacingMm, bands.values);
  return bands;
}

template <int D>
ExactBendingEnergy<D>::ExactBendingEnergy(const BSplineGrid<D>& grid)
{
  requireSpline(grid);
  Vec<D> low, high;
  for (int d = 0; d < D; ++d) {
    low[d] = validLow(grid.order);
    high[d] = validHigh(grid.order, grid.points.size[d]);
  }
  setBands(grid, low, high);
}

template <int D>
ExactBendingEnergy<D>::ExactBendingEnergy(const BSplineGrid<D>& grid, const ImageGeometry<D>& image)
{
  constexpr double largestTurn = 1e-6;
  requireSpline(grid);
  const VoxelsInGrid<D> voxels(grid, image);
  if (voxels.turn > largestTurn)
    refuse("an image whose axes are not the grid's", "a grid along the fixed image's axes");
  Vec<D> low, high;
  for (int d = 0; d < D; ++d) {
    low[d] = std::max(voxels.first[d], validLow(grid.order));
    high[d] = std::min(voxels.first[d] + static_cast<double>(image.size[d] - 1) * voxels.step[d],
                       validHigh(grid.order, grid.points.size[d]));
  }
  setBands(grid, low, high);
}

template <int D>
std::optional<ExactBendingEnergy<D>> ExactBendingEnergy<D>::overVoxels(const BSplineGrid<D>& grid,
                                                                       const VoxelLattice<D>& lattice)
{
  // A few roundings, so that positions are those that the points would have.
  constexpr double largestTurn = 1e-12;
  const VoxelsInGrid<D> voxels(grid, lattice.image->geometry);
  // Rounding decides where a voxel lies, and second derivatives of lower orders are not continuous there.
  if (grid.cyclic || grid.order != 3 || voxels.turn > largestTurn)
    return {};
  ExactBendingEnergy form;
  form.pointCount_ = grid.pointCount();
  for (int d = 0; d < D; ++d) {
    const double first = voxels.first[d] + static_cast<double>(lattice.first[d]) * voxels.step[d],
                 step = static_cast<double>(lattice.step[d]) * voxels.step[d];
    auto bands = BendingBands::at(first, step, lattice.count[d], static_cast<int>(grid.points.size[d]),
                                  grid.order, grid.points.spacingMm[d]);
    if (!bands)
      return {};
    form.bands_[d] = std::move(*bands);
  }
  return form;
}

template <int D>
void ExactBendingEnergy<D>::setBands(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  for (int d = 0; d < D; ++d) {
    const int points = static_cast<int>(grid.points.size[d]);
    if (points <= grid.order || high[d] < low[d])
      refuse("nothing of the image along the grid's axis " + std::to_string(d)
                 + " lies in the valid region of its " + std::to_string(points) + " control points",
             "a grid over the image");
    bands_[d] = BendingBands::over(low[d], high[d], points, grid.order, grid.points.spacingMm[d]);
  }
  pointCount_ = grid.pointCount();
}

template <int D>
double ExactBendingEnergy<D>::evaluate(Context& context, std::span<const double> coefficients,
                                       std::span<double> gradient)
{
  // E_p is the sum over all ways to take p derivatives along the axes so far. With the bands G_p of the next
  // axis E_0 <- G_0 E_0, E_1 <- G_0 E_1 + G_1 E_0 and E_2 <- G_0 E_2 + 2 G_1 E_1 + G_2 E_0; mixed derivatives
  // count twice.
  constexpr double binomial[3][3] = {{1, 0, 0}, {1, 1, 0}, {1, 2, 1}};
  const std::size_t slices = static_cast<std::size_t>(bands_[D - 1].points), perSlice = pointCount_ / slices;
  orders_.assign(D * 3 * pointCount_, 0.0);
  forEachChunk(context, D * slices, [&](std::size_t task) {
    thread_local std::vector<double> along;
    const std::size_t c = task / slices, slice = task % slices;
    const double* from = coefficients.data() + c * pointCount_ + slice * perSlice;
    const auto to = [&](int p) { return orders_.data() + (c * 3 + p) * pointCount_ + slice * perSlice; };
    const std::size_t nx = static_cast<std::size_t>(bands_[0].points);
    if constexpr (D == 2) {
      for (int p = 0; p < 3; ++p)
        addBands(bands_[0], p, 1, from, to(p), 1);
    } else {
      along.assign(3 * perSlice, 0.0);
      for (int p = 0; p < 3; ++p)
        for (std::size_t line = 0; line < perSlice; line += nx)
          addBands(bands_[0], p, 1, from + line, along.data() + p * perSlice + line, 1);
      for (int p = 0; p < 3; ++p)
        for (int q = 0; q <= p; ++q)
          addBands(bands_[1], q, binomial[p][q], along.data() + (p - q) * perSlice, to(p), nx);
    }
  });

  sums_.assign(D * slices, 0.0);
  forEachChunk(context, D * slices, [&](std::size_t task) {
    thread_local std::vector<double> product;
    const std::size_t c = task / slices;
    const int slice = static_cast<int>(task % slices);
    product.assign(perSlice, 0.0);
    const BendingBands& bands = bands_[D - 1];
    for (int q = 0; q < 3; ++q)
      for (int m = std::max(-reach, -slice); m <= reach && slice + m < bands.points; ++m) {
        const double weight = binomial[2][q] * bands.values[slice * perPoint + q * neighbours + m + reach];
        const double* from = orders_.data() + (c * 3 + 2 - q) * pointCount_ + (slice + m) * perSlice;
        for (std::size_t i = 0; i < perSlice; ++i)
          product[i] += weight * from[i];
      }
    const std::size_t first = c * pointCount_ + slice * perSlice;
    double sum = 0;
    for (std::size_t i = 0; i < perSlice; ++i)
      sum += product[i] * coefficients[first + i];
    sums_[task] = sum;
    if (!gradient.empty())
      for (std::size_t i = 0; i < perSlice; ++i)
        gradient[first + i] = 2 * product[i];
  });
  double value = 0;
  for (const double sum : sums_)
    value += sum;
  return value;
}

template <int D>
void ExactBendingEnergy<D>::reserve(const Context& context)
{
  if (bandsOnCuda_.size() > 0)
    return;
  bandsOnCuda_.fromHost(context, bending::tableOf<D>(bands_));
  blocksDone_.fromHost(context, std::vector<unsigned>{0});
  sumsOnCuda_ =
      Buffer<double>(context, bending::maxBlocks(bending::planOf<D>(bands_, bandsOnCuda_.span().data())));
}

TESSERA_INSTANTIATE_CLASS(ExactBendingEnergy);

}
