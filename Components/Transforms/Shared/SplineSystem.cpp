#include "Components/Transforms/Shared/SplineSystem.h"

#include "Components/Transforms/Shared/LinearSolve.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

/// G(x), row-major.
template <int D, SplineKernel Kernel>
Matrix<D> kernelMatrix(const Vec<D>& x, double alpha)
{
  double squared = 0;
  for (int d = 0; d < D; ++d)
    squared += x[d] * x[d];
  const RadialTerms t = radialTerms<Kernel>(squared, alpha);
  Matrix<D> g{};
  for (int a = 0; a < D; ++a)
    for (int b = 0; b < D; ++b)
      g[a][b] = t.g * x[a] * x[b] + (a == b ? t.f : 0);
  return g;
}

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

/// Solves the system for several right-hand sides and undoes the normalization. The result has (landmarks + D
/// + 1) * block rows, each with a number for every right-hand side.
template <int D>
bool solveSpline(const SplineModel<D>& model, std::vector<double>& right, std::size_t rightHandSides)
{
  const Normalization<D> normalization(model.landmarksMm);
  double largest = 0;
  bool solved = false;
  withKernel<D>(model.kernel, [&](auto kernel) {
    solved = solveLinear(splineSystem<D, decltype(kernel)::value>(model.landmarksMm, normalization,
                                                                  model.alpha(), model.relaxation, largest),
                         right.size() / rightHandSides, right, rightHandSides);
  });
  if (!solved)
    return false;
  const std::size_t n = model.landmarksMm.size(), perVector = model.block() * rightHandSides;
  for (std::size_t i = 0; i < n * perVector; ++i)
    right[i] /= largest > 0 ? largest : 1;
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
std::optional<std::vector<double>> splineVectors(const SplineModel<D>& model,
                                                 std::span<const double> movingLandmarksMm)
{
  std::vector<double> right(model.vectors() * D,
                            0.0); // the same order for D right-hand sides of one component and for one of D
  for (std::size_t i = 0; i < model.landmarksMm.size(); ++i)
    for (int d = 0; d < D; ++d)
      right[i * D + d] = movingLandmarksMm[i * D + d] - model.landmarksMm[i][d];
  if (!solveSpline(model, right, D / model.block()))
    return {};
  for (int d = 0; d < D; ++d)
    right[(model.landmarksMm.size() + d) * D + d] += 1;
  return right;
}

template <int D>
std::optional<std::vector<double>> splineInfluence(const SplineModel<D>& model)
{
  const std::size_t columns = model.landmarksMm.size() * model.block();
  std::vector<double> right(model.vectors() * model.block() * columns, 0.0);
  for (std::size_t i = 0; i < columns; ++i)
    right[i * columns + i] = 1;
  if (!solveSpline(model, right, columns))
    return {};
  return right;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template std::vector<double> identityVectors(const SplineModel<D>&);                                       \
  template std::optional<std::vector<double>> splineVectors(const SplineModel<D>&, std::span<const double>); \
  template std::optional<std::vector<double>> splineInfluence(const SplineModel<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
