#include "Components/Transforms/Shared/BSplineField.h"

#include "Components/Transforms/Shared/BSplineDisplacement.h"
#include "Components/Transforms/Shared/Congruence.h"
#include "Core/Compute/Math/WithConstant.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace tessera {
namespace {

template <int D, int Order>
TESSERA_MULTIVERSION void pullBackBatch(const FieldView<D>& field, const ListSamples<D>& samples,
                                        const Covectors<D>& covectors, double* gradient)
{
  constexpr int taps = Order + 1, middleTaps = Support<D, Order>::middleTaps;
  const SupportFinder<D> finder = field.finder;
  for (std::size_t i = 0; i < samples.count; ++i) {
    Support<D, Order> support;
    if (!findSupport<D, Order>(finder, samples, i, support))
      continue;
    double wx[taps], wm[std::max(taps, middleTaps)], wl[taps];
    bsplineWeights<Order, double>(support.distance[0], wx);
    middleWeights<D, Order>(support, wm);
    bsplineWeights<Order, double>(support.distance[D - 1], wl);
    const Row<taps> weightsX = loadRow<taps>(wx);
    for (int c = 0; c < field.components; ++c) {
      double* component = gradient + c * field.points;
      const Row<taps> row = weightsX * covectors[c][i];
      for (int l = 0; l < taps; ++l) {
        const Row<taps> slice = row * wl[l];
        for (int m = 0; m < middleTaps; ++m)
          addToRow<taps>(component + support.row(finder, m, l), slice * wm[m]);
      }
    }
  }
}

/// The weights of one axis, and their first and second derivatives.
template <int Taps>
struct AxisDerivatives {
  double w0[Taps] = {1}, w1[Taps] = {}, w2[Taps] = {};

  AxisDerivatives() = default;
  TESSERA_ALWAYS_INLINE explicit AxisDerivatives(double distance)
  {
    bsplineWeights<Taps - 1, double>(distance, w0);
    bsplineDerivatives<Taps - 1, double>(distance, w1);
    bsplineSecondDerivatives<Taps - 1, double>(distance, w2);
  }
};

template <int D, int Order>
struct SupportDerivatives {
  AxisDerivatives<Order + 1> middle, last; // along y in 4D, where z is beside them
  std::conditional_t<D == 4, AxisDerivatives<Order + 1>, std::monostate> z;
  Row<Order + 1> x0{}, x1{}, x2{};

  SupportDerivatives() = default;
  TESSERA_ALWAYS_INLINE explicit SupportDerivatives(const Support<D, Order>& support)
      : last(support.distance[D - 1])
  {
    if constexpr (D > 2)
      middle = AxisDerivatives<Order + 1>(support.distance[1]);
    if constexpr (D == 4)
      z = AxisDerivatives<Order + 1>(support.distance[2]);
    const AxisDerivatives<Order + 1> x(support.distance[0]);
    x0 = loadRow<Order + 1>(x.w0);
    x1 = loadRow<Order + 1>(x.w1);
    x2 = loadRow<Order + 1>(x.w2);
  }
};

/// The first derivatives of one component in 4D with respect to the grid index.
template <int Order>
TESSERA_ALWAYS_INLINE void firstDerivatives(const SupportFinder<4>& finder, const Support<4, Order>& support,
                                            const SupportDerivatives<4, Order>& w, const double* component,
                                            double* g)
{
  constexpr int taps = Order + 1;
  Row<taps> all{}, alongY{}, alongZ{}, alongT{};
  for (int tap = 0; tap < taps * taps * taps; ++tap) {
    const int y = tap % taps, z = tap / taps % taps, t = tap / (taps * taps);
    const Row<taps> row = loadRow<taps>(component + support.row(finder, tap % (taps * taps), t));
    all += row * (w.middle.w0[y] * w.z.w0[z] * w.last.w0[t]);
    alongY += row * (w.middle.w1[y] * w.z.w0[z] * w.last.w0[t]);
    alongZ += row * (w.middle.w0[y] * w.z.w1[z] * w.last.w0[t]);
    alongT += row * (w.middle.w0[y] * w.z.w0[z] * w.last.w1[t]);
  }
  g[0] = sumOfRow<taps>(all * w.x1);
  g[1] = sumOfRow<taps>(alongY * w.x0);
  g[2] = sumOfRow<taps>(alongZ * w.x0);
  g[3] = sumOfRow<taps>(alongT * w.x0);
}

/// The first (g) and second (h, upper triangle) derivatives of one component with respect to the grid index.
/// Rows along x are summed separately for each number of derivatives along the middle and last axes: s00,
/// s10, s01, ...
template <int D, int Order, bool WithHessian>
TESSERA_ALWAYS_INLINE void indexDerivatives(const SupportFinder<D>& finder, const Support<D, Order>& support,
                                            const SupportDerivatives<D, Order>& w, const double* component,
                                            double* g, double* h)
{
  constexpr int taps = Order + 1;
  Row<taps> s00{}, s10{}, s01{}, s20{}, s11{}, s02{};
  for (int l = 0; l < taps; ++l) {
    Row<taps> r0{}, r1{}, r2{};
    for (int m = 0; m < Support<D, Order>::middleTaps; ++m) {
      const Row<taps> row = loadRow<taps>(component + support.row(finder, m, l));
      r0 += row * w.middle.w0[m];
      if constexpr (D == 3) {
        r1 += row * w.middle.w1[m];
        if constexpr (WithHessian)
          r2 += row * w.middle.w2[m];
      }
    }
    s00 += r0 * w.last.w0[l];
    s01 += r0 * w.last.w1[l];
    if constexpr (WithHessian)
      s02 += r0 * w.last.w2[l];
    if constexpr (D == 3) {
      s10 += r1 * w.last.w0[l];
      if constexpr (WithHessian) {
        s11 += r1 * w.last.w1[l];
        s20 += r2 * w.last.w0[l];
      }
    }
  }
  constexpr int last = D - 1;
  g[0] = sumOfRow<taps>(s00 * w.x1);
  if constexpr (D == 3)
    g[1] = sumOfRow<taps>(s10 * w.x0);
  g[last] = sumOfRow<taps>(s01 * w.x0);
  if constexpr (WithHessian) {
    h[symmetricIndex<D>(0, 0)] = sumOfRow<taps>(s00 * w.x2);
    if constexpr (D == 3) {
      h[symmetricIndex<D>(0, 1)] = sumOfRow<taps>(s10 * w.x1);
      h[symmetricIndex<D>(1, 1)] = sumOfRow<taps>(s20 * w.x0);
      h[symmetricIndex<D>(1, 2)] = sumOfRow<taps>(s11 * w.x0);
    }
    h[symmetricIndex<D>(0, last)] = sumOfRow<taps>(s01 * w.x1);
    h[symmetricIndex<D>(last, last)] = sumOfRow<taps>(s02 * w.x0);
  }
}

/// The adjoint of indexDerivatives: component += the weights of the rows for covectors g and h.
template <int D, int Order, bool WithHessian>
TESSERA_ALWAYS_INLINE void pullBackIndexDerivatives(const SupportFinder<D>& finder,
                                                    const Support<D, Order>& support,
                                                    const SupportDerivatives<D, Order>& w, const double* g,
                                                    const double* h, double* component)
{
  constexpr int taps = Order + 1, last = D - 1;
  Row<taps> s00 = w.x1 * g[0], s01 = w.x0 * g[last], s10{}, s20{}, s11{}, s02{};
  if constexpr (D == 3)
    s10 = w.x0 * g[1];
  if constexpr (WithHessian) {
    s00 += w.x2 * h[symmetricIndex<D>(0, 0)];
    s01 += w.x1 * h[symmetricIndex<D>(0, last)];
    s02 = w.x0 * h[symmetricIndex<D>(last, last)];
    if constexpr (D == 3) {
      s10 += w.x1 * h[symmetricIndex<D>(0, 1)];
      s20 = w.x0 * h[symmetricIndex<D>(1, 1)];
      s11 = w.x0 * h[symmetricIndex<D>(1, 2)];
    }
  }
  for (int l = 0; l < taps; ++l) {
    Row<taps> r0 = s00 * w.last.w0[l] + s01 * w.last.w1[l], r1{}, r2{};
    if constexpr (WithHessian)
      r0 += s02 * w.last.w2[l];
    if constexpr (D == 3) {
      r1 = s10 * w.last.w0[l];
      if constexpr (WithHessian) {
        r1 += s11 * w.last.w1[l];
        r2 = s20 * w.last.w0[l];
      }
    }
    for (int m = 0; m < Support<D, Order>::middleTaps; ++m) {
      Row<taps> row = r0 * w.middle.w0[m];
      if constexpr (D == 3) {
        row += r1 * w.middle.w1[m];
        if constexpr (WithHessian)
          row += r2 * w.middle.w2[m];
      }
      addToRow<taps>(component + support.row(finder, m, l), row);
    }
  }
}

template <int D, int Order, bool WithHessian>
TESSERA_MULTIVERSION void derivativesBatch(const FieldView<D>& field, const ListSamples<D>& samples,
                                           const double* coefficients, double* jacobian, double* hessian)
{
  constexpr int pairs = symmetricCount(D);
  const SupportFinder<D> finder = field.finder;
  const Matrix<D> axes = finder.pointToIndex.fromOffset; // d index_a / d x_j
  const std::size_t count = samples.count;
  for (std::size_t i = 0; i < count; ++i) {
    Support<D, Order> support;
    const bool inside = findSupport<D, Order>(finder, samples, i, support);
    SupportDerivatives<D, Order> weights;
    if (inside)
      weights = SupportDerivatives<D, Order>(support);
    for (int k = 0; k < D; ++k) {
      double g[D] = {}, h[pairs] = {};
      if (inside && k < field.components) {
        const double* const component = coefficients + k * field.points;
        if constexpr (D == 4)
          firstDerivatives<Order>(finder, support, weights, component, g);
        else
          indexDerivatives<D, Order, WithHessian>(finder, support, weights, component, g, h);
      }
      for (int j = 0; j < D; ++j) {
        double slope = k == j ? 1 : 0;
        for (int a = 0; a < D; ++a)
          slope += g[a] * axes[a][j];
        jacobian[(k * D + j) * count + i] = slope;
      }
      if constexpr (WithHessian)
        congruence<D, MultiplyThenAdd>(h, axes, hessian + k * pairs * count + i, count);
    }
  }
}

template <int D, int Order, bool WithHessian>
TESSERA_MULTIVERSION void pullBackDerivativesBatch(const FieldView<D>& field, const ListSamples<D>& samples,
                                                   const double* covJacobian, const double* covHessian,
                                                   double* gradient)
{
  constexpr int pairs = symmetricCount(D);
  const SupportFinder<D> finder = field.finder;
  const Matrix<D> axes = finder.pointToIndex.fromOffset;
  const std::size_t count = samples.count;
  for (std::size_t i = 0; i < count; ++i) {
    Support<D, Order> support;
    if (!findSupport<D, Order>(finder, samples, i, support))
      continue;
    const SupportDerivatives<D, Order> weights(support);
    for (int k = 0; k < field.components; ++k) {
      double g[D] = {}, h[pairs] = {};
      if (covJacobian)
        for (int a = 0; a < D; ++a)
          for (int j = 0; j < D; ++j)
            g[a] += axes[a][j] * covJacobian[(k * D + j) * count + i];
      if constexpr (WithHessian) {
        double half[D][D] = {};
        for (int p = 0, s = 0; p < D; ++p)
          for (int q = p; q < D; ++q, ++s)
            for (int a = 0; a < D; ++a)
              half[a][q] += axes[a][p] * covHessian[(k * pairs + s) * count + i];
        for (int a = 0; a < D; ++a)
          for (int b = 0; b < D; ++b)
            for (int q = 0; q < D; ++q)
              h[symmetricIndex<D>(a, b)] += half[a][q] * axes[b][q];
      }
      pullBackIndexDerivatives<D, Order, WithHessian>(finder, support, weights, g, h,
                                                      gradient + k * field.points);
    }
  }
}

}

template <int D>
BSplineField<D>::BSplineField(const BSplineGrid<D>& grid)
    : order_(grid.order), points_(static_cast<std::ptrdiff_t>(grid.pointCount())),
      components_(grid.cyclic ? D - 1 : D), finder_(grid)
{
}

template <int D>
void BSplineField<D>::displace(const ListSamples<D>& samples, const double* coefficients, bool addPoint,
                               const PointsOut<D>& out) const
{
  const FieldView<D> field{finder_, points_, components_};
  withConstant<1, 3>(order_, [&]<int Order>() {
    DisplaceBatch<D, Order>::run(field, samples, coefficients, addPoint, out);
  });
}

template <int D>
void BSplineField<D>::pullBack(const ListSamples<D>& samples, const Covectors<D>& covectors,
                               double* gradient) const
{
  const FieldView<D> field{finder_, points_, components_};
  withConstant<1, 3>(order_,
                     [&]<int Order>() { pullBackBatch<D, Order>(field, samples, covectors, gradient); });
}

template <int D>
void BSplineField<D>::derivatives(const ListSamples<D>& samples, const double* coefficients, double* jacobian,
                                  double* hessian) const
{
  const FieldView<D> field{finder_, points_, components_};
  withConstant<1, 3>(order_, [&]<int Order>() {
    if (!hessian)
      return derivativesBatch<D, Order, false>(field, samples, coefficients, jacobian, hessian);
    if constexpr (D == 4)
      throw std::logic_error("no metric in 4D needs second derivatives");
    else
      derivativesBatch<D, Order, true>(field, samples, coefficients, jacobian, hessian);
  });
}

template <int D>
void BSplineField<D>::pullBackDerivatives(const ListSamples<D>& samples, const double* covJacobian,
                                          const double* covHessian, double* gradient) const
{
  const FieldView<D> field{finder_, points_, components_};
  withConstant<1, 3>(order_, [&]<int Order>() {
    if constexpr (D == 4)
      throw std::logic_error("no metric in 4D needs derivatives of the spatial derivatives");
    else if (covHessian)
      pullBackDerivativesBatch<D, Order, true>(field, samples, covJacobian, covHessian, gradient);
    else
      pullBackDerivativesBatch<D, Order, false>(field, samples, covJacobian, covHessian, gradient);
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(BSplineField);

}
