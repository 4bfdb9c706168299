#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"

#include "Components/Transforms/Shared/LandmarkSplines/KernelMatrix.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"
#include "Components/Transforms/Shared/OnCuda/SplineMatrixOnCuda.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t fewestRowsOnCuda = 512; // a smaller system takes some milliseconds on the CPU

/// Moves the landmarks' centre to 0 and divides by their extent, so that the system's entries are of order
/// one.
template <int D>
struct Normalization {
  Vec<D> center{};
  double extent = 0;

  explicit Normalization(const std::vector<Vec<D>>& points)
  {
    for (const Vec<D>& p : points)
      for (int d = 0; d < D; ++d)
        center[d] += p[d] / static_cast<double>(points.size());
    for (const Vec<D>& p : points)
      for (int d = 0; d < D; ++d)
        extent = std::max(extent, std::abs(p[d] - center[d]));
  }
  /// The basis of the affine part at a point: its coordinates, then 1.
  std::array<double, D + 1> basis(const Vec<D>& p) const
  {
    std::array<double, D + 1> q;
    for (int d = 0; d < D; ++d)
      q[d] = (p[d] - center[d]) / extent;
    q[D] = 1;
    return q;
  }
};

/// The matrix [K + relaxation I, P; P^T, 0] divided by the largest entry of K, in blocks of `block`
/// components (1 if G is a multiple of I).
template <int D, SplineKernel Kernel>
std::vector<double> splineSystem(const std::vector<Vec<D>>& points, const Normalization<D>& normalization,
                                 double alpha, double relaxation, double& largest)
{
  constexpr std::size_t block = hasOuterProduct(Kernel) ? D : 1;
  const std::size_t n = points.size(), count = block * (n + D + 1);
  std::vector<double> matrix(count * count, 0.0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      Vec<D> difference;
      for (int d = 0; d < D; ++d)
        difference[d] = points[i][d] - points[j][d];
      const Matrix<D> g = kernelMatrix<D, Kernel>(difference, alpha);
      for (std::size_t a = 0; a < block; ++a)
        for (std::size_t b = 0; b < block; ++b)
          matrix[(i * block + a) * count + j * block + b] = i == j ? (a == b ? relaxation : 0) : g[a][b];
    }
  largest = 0;
  for (const double value : matrix)
    largest = std::max(largest, std::abs(value));
  for (double& value : matrix)
    value /= largest > 0 ? largest : 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto q = normalization.basis(points[i]);
    for (std::size_t m = 0; m <= D; ++m)
      for (std::size_t a = 0; a < block; ++a)
        matrix[(i * block + a) * count + (n + m) * block + a] =
            matrix[((n + m) * block + a) * count + i * block + a] = q[m];
  }
  return matrix;
}

/// K and P of ProjectedSystem, with their rows and K's columns multiplied.
template <int D, SplineKernel Kernel>
ProjectedSystem projected(const Context& context, const SplineModel<D>& model,
                          const Normalization<D>& normalization, const RowFactors<D>& factors)
{
  const std::size_t block = factors.block(model);
  const std::vector<Vec<D>>& points = model.landmarksMm;
  const std::size_t rows = block * points.size(), unknowns = block * (D + 1);
  std::vector<double> basis(rows * unknowns, 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto q = normalization.basis(points[i]);
    const Matrix<D> factor = factors.of(i);
    for (std::size_t m = 0; m <= D; ++m)
      for (std::size_t a = 0; a < block; ++a)
        for (std::size_t b = 0; b <= a; ++b)
          basis[(i * block + a) * unknowns + m * block + b] = factor[a][b] * q[m];
  }
  if (context.onCuda() && rows >= fewestRowsOnCuda
      && ProjectedSystem::deviceBytes(rows) <= usableDeviceMemory(context)) {
    Buffer<double> landmarksMm, scales, kernel(context, rows * rows);
    Buffer<Matrix<D>> matrices;
    landmarksMm.fromHost(context, {points.front().data(), D * points.size()});
    if (!factors.matrices.empty())
      matrices.fromHost(context, factors.matrices);
    else if (!factors.scales.empty())
      scales.fromHost(context, factors.scales);
    splineMatrixOnCuda<D>(context, Kernel, model.alpha(), landmarksMm.span().data(),
                          scales.size() > 0 ? scales.span().data() : nullptr,
                          matrices.size() > 0 ? matrices.span().data() : nullptr, points.size(), block,
                          kernel.span().data());
    return {context, std::move(kernel), basis, unknowns, kernelSign<D>(Kernel)};
  }
  std::vector<double> kernel(rows * rows);
  forEachRange(context, points.size(), 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t j = 0; j < points.size(); ++j) {
        Matrix<D> g = kernelMatrix<D, Kernel>(minus(points[i], points[j]), model.alpha());
        if (!factors.matrices.empty())
          g = betweenRows<D>(factors.matrices[i], g, factors.matrices[j]);
        const double scale = i == j ? 0 : factors.scales.empty() ? 1 : factors.scales[i] * factors.scales[j];
        for (std::size_t a = 0; a < block; ++a)
          for (std::size_t b = 0; b < block; ++b)
            kernel[(i * block + a) * rows + j * block + b] = scale * g[a][b];
      }
  });
  return {context, std::move(kernel), basis, unknowns, kernelSign<D>(Kernel)};
}

}

template <int D>
ProjectedSystem projectedSystem(const Context& context, const SplineModel<D>& model,
                                const RowFactors<D>& factors)
{
  std::optional<ProjectedSystem> system;
  withKernel<D>(model.kernel, [&](auto kernel) {
    system.emplace(
        projected<D, decltype(kernel)::value>(context, model, Normalization<D>(model.landmarksMm), factors));
  });
  return std::move(*system);
}

namespace {

/// Solves the system for several right-hand sides and undoes the normalization. The result has (landmarks + D
/// + 1) * block rows, each with a number for every right-hand side.
template <int D>
bool solveSpline(const Context& context, const SplineModel<D>& model, std::vector<double>& right,
                 std::size_t rightHandSides)
{
  const Normalization<D> normalization(model.landmarksMm);
  const std::size_t n = model.landmarksMm.size(), perVector = model.block() * rightHandSides;
  if (model.relaxationSmooths()) {
    ProjectedSystem system = projectedSystem<D>(context, model);
    if (!system.isDetermined() || !system.factor(context, std::abs(model.relaxation)))
      return false;
    right.resize(n * perVector);
    const std::vector<double> affine = system.solve(context, right, rightHandSides);
    right.insert(right.end(), affine.begin(), affine.end());
  } else {
    double largest = 0;
    bool solved = false;
    withKernel<D>(model.kernel, [&](auto kernel) {
      solved = solveLinear(splineSystem<D, decltype(kernel)::value>(model.landmarksMm, normalization,
                                                                    model.alpha(), model.relaxation, largest),
                           right.size() / rightHandSides, right, rightHandSides);
    });
    if (!solved)
      return false;
    for (std::size_t i = 0; i < n * perVector; ++i)
      right[i] /= largest > 0 ? largest : 1;
  }
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < perVector; ++i) {
      double& slope = right[(n + d) * perVector + i];
      slope /= normalization.extent;
      right[(n + D) * perVector + i] -= slope * normalization.center[d];
    }
  return true;
}

}

template <int D>
std::vector<double> identityVectors(const SplineModel<D>& model)
{
  std::vector<double> vectors(model.vectors() * D, 0.0);
  for (int d = 0; d < D; ++d)
    vectors[(model.landmarksMm.size() + d) * D + d] = 1;
  return vectors;
}

template <int D>
std::optional<std::vector<double>> splineVectors(const Context& context, const SplineModel<D>& model,
                                                 std::span<const double> movingLandmarksMm)
{
  const auto solver = SplineSolver<D>::of(context, model);
  if (!solver)
    return {};
  std::vector<double> displacementsMm(movingLandmarksMm.begin(), movingLandmarksMm.end());
  for (std::size_t i = 0; i < displacementsMm.size(); ++i)
    displacementsMm[i] -= model.landmarksMm[i / D][i % D];
  std::vector<double> vectors = identityVectors(model);
  solver->addVectors(displacementsMm, vectors);
  return vectors;
}

template <int D>
SplineSolver<D>::SplineSolver(const SplineModel<D>& model) : model_(model)
{
  const Normalization<D> normalization(model.landmarksMm);
  centerMm_ = normalization.center;
  extentMm_ = normalization.extent;
}

template <int D>
std::optional<SplineSolver<D>> SplineSolver<D>::of(const Context& context, const SplineModel<D>& model)
{
  SplineSolver solver(model);
  if (model.relaxationSmooths()) {
    solver.system_ = projectedSystem<D>(context, model);
    if (!solver.system_->isDetermined() || !solver.system_->factor(context, model.relaxation))
      return {};
    solver.system_->keepFactor();
  } else {
    std::optional<std::vector<double>> influence = splineInfluence(context, model);
    if (!influence)
      return {};
    solver.influence_ = std::move(*influence);
  }
  return solver;
}

template <int D>
void SplineSolver<D>::addVectors(std::span<const double> displacementsMm, std::span<double> vectors) const
{
  if (!system_)
    return spline::addProduct<D>(model_, influence_, false, displacementsMm, vectors);
  std::vector<double> found(displacementsMm.begin(), displacementsMm.end());
  const std::vector<double> affine = system_->solve(Context{}, found, D / model_.block());
  found.insert(found.end(), affine.begin(), affine.end());
  const std::size_t n = displacementsMm.size();
  for (std::size_t d = 0; d < D; ++d)
    for (std::size_t k = 0; k < D; ++k) {
      double& slope = found[n + d * D + k];
      slope /= extentMm_;
      found[n + D * D + k] -= slope * centerMm_[d];
    }
  for (std::size_t i = 0; i < found.size(); ++i)
    vectors[i] += found[i];
}

template <int D>
void SplineSolver<D>::addGradient(std::span<const double> byVectors, std::span<double> gradient) const
{
  if (!system_)
    return spline::addProduct<D>(model_, influence_, true, byVectors, gradient);
  const std::size_t n = gradient.size();
  std::vector<double> found(byVectors.begin(), byVectors.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<double> affine(byVectors.begin() + static_cast<std::ptrdiff_t>(n), byVectors.end());
  for (std::size_t d = 0; d < D; ++d)
    for (std::size_t k = 0; k < D; ++k)
      affine[d * D + k] = (affine[d * D + k] - centerMm_[d] * affine[D * D + k]) / extentMm_;
  system_->solveTransposed(Context{}, found, std::move(affine), D / model_.block());
  for (std::size_t i = 0; i < n; ++i)
    gradient[i] += found[i];
}

template <int D>
std::optional<std::vector<double>> splineInfluence(const Context& context, const SplineModel<D>& model)
{
  const std::size_t columns = model.landmarksMm.size() * model.block();
  std::vector<double> right(model.vectors() * model.block() * columns, 0.0);
  for (std::size_t i = 0; i < columns; ++i)
    right[i * columns + i] = 1;
  if (!solveSpline(context, model, right, columns))
    return {};
  return right;
}

TESSERA_INSTANTIATE_CLASS(SplineSolver);
TESSERA_INSTANTIATE_FUNCTIONS(identityVectors<D>, splineVectors<D>, splineInfluence<D>, projectedSystem<D>);

bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t rightHandSides)
{
  const auto row = [&](std::size_t i) { return matrix.data() + i * count; };
  const auto rightHandRow = [&](std::size_t i) { return right.data() + i * rightHandSides; };
  double largest = 0;
  for (const double value : matrix)
    largest = std::max(largest, std::abs(value));
  const double negligible = largest * static_cast<double>(count) * std::numeric_limits<double>::epsilon();

  for (std::size_t k = 0; k < count; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < count; ++i)
      if (std::abs(row(i)[k]) > std::abs(row(pivot)[k]))
        pivot = i;
    if (!(std::abs(row(pivot)[k]) > negligible))
      return false;
    if (pivot != k) {
      std::swap_ranges(row(k), row(k) + count, row(pivot));
      std::swap_ranges(rightHandRow(k), rightHandRow(k) + rightHandSides, rightHandRow(pivot));
    }
    for (std::size_t i = k + 1; i < count; ++i) {
      const double factor = row(i)[k] / row(k)[k];
      if (factor == 0)
        continue;
      for (std::size_t j = k + 1; j < count; ++j)
        row(i)[j] -= factor * row(k)[j];
      for (std::size_t j = 0; j < rightHandSides; ++j)
        rightHandRow(i)[j] -= factor * rightHandRow(k)[j];
    }
  }
  for (std::size_t k = count; k-- > 0;) {
    for (std::size_t i = k + 1; i < count; ++i)
      for (std::size_t j = 0; j < rightHandSides; ++j)
        rightHandRow(k)[j] -= row(k)[i] * rightHandRow(i)[j];
    for (std::size_t j = 0; j < rightHandSides; ++j)
      rightHandRow(k)[j] /= row(k)[k];
  }
  return true;
}

}
