#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/SumOfLinks.h"
#include "Core/Registration/StackOfTransforms.h"
#include "Core/Registration/Transform.h"

#include <algorithm>

namespace tessera {
namespace {

/// An array from this thread's pool, given back at the end of the scope. Chains nest, so several can be in
/// use.
class Loan {
public:
  explicit Loan(std::size_t count)
  {
    if (depth() == pool().size())
      pool().push_back(std::make_unique<std::vector<double>>());
    array_ = pool()[depth()++].get();
    if (array_->size() < count)
      array_->resize(count);
  }
  ~Loan() { --depth(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  double* data() { return array_->data(); }
  const double* data() const { return array_->data(); }

private:
  static std::vector<std::unique_ptr<std::vector<double>>>& pool()
  {
    thread_local std::vector<std::unique_ptr<std::vector<double>>> arrays;
    return arrays;
  }
  static std::size_t& depth()
  {
    thread_local std::size_t used = 0;
    return used;
  }

  std::vector<double>* array_;
};

/// Arrays of points in a Loan.
template <int D>
class PointLoan {
public:
  explicit PointLoan(std::size_t count) : count_(count), loan_(D * count) {}

  PointsOut<D> out() { return planesOf<D>(loan_.data(), count_); }
  ListSamples<D> list() const { return {planesOf<D>(loan_.data(), count_), count_}; }

private:
  std::size_t count_;
  Loan loan_;
};

/// Whether some coordinates of the points are to be overwritten.
template <int D>
bool isSame(const ListSamples<D>& samples, const PointsOut<D>& out)
{
  bool same = false;
  for (int d = 0; d < D; ++d)
    same = same || out[d] == samples.pointMm[d];
  return same;
}

template <int D>
void copyPoints(const ListSamples<D>& samples, const PointsOut<D>& out)
{
  for (int d = 0; d < D; ++d)
    if (out[d] != samples.pointMm[d])
      std::copy_n(samples.pointMm[d], samples.count, out[d]);
}

template <int D>
const SpatialDerivatives<D>& derivativesOf(const Transform<D>& transform)
{
  if (const SpatialDerivatives<D>* derivatives = transform.differentiable())
    return *derivatives;
  throw Error(ExitCode::usage, "the transform \"" + transform.name()
                                   + "\" has no spatial derivatives. Allowed: a transform that has them.");
}

template <int D>
bool hasHessian(const Transform<D>& transform)
{
  return derivativesOf(transform).hasHessian();
}

/// First and second derivatives of a composition T1(T0(x)) at one sample, from those of T0 (J0, H0) and T1
/// (J1, H1). The entries of one matrix lie `count` values apart.
template <int D>
struct Composition {
  std::size_t count;
  const double *jacobian0, *hessian0; // null: all second derivatives are zero
  const double *jacobian1, *hessian1;

  double j0(int row, int column, std::size_t i) const { return jacobian0[(row * D + column) * count + i]; }
  double j1(int row, int column, std::size_t i) const { return jacobian1[(row * D + column) * count + i]; }

  /// J = J1 J0 of all samples
  void jacobians(double* out) const
  {
    for (int k = 0; k < D; ++k)
      for (int a = 0; a < D; ++a)
        for (std::size_t i = 0; i < count; ++i) {
          double sum = 0;
          for (int l = 0; l < D; ++l)
            sum += j1(k, l, i) * j0(l, a, i);
          out[(k * D + a) * count + i] = sum;
        }
  }

  /// H_k[ab] = sum_cd H1_k[cd] J0[ca] J0[db] + sum_l J1[kl] H0_l[ab]
  void hessian(std::size_t i, double* out) const
  {
    constexpr int S = symmetricCount(D);
    for (int k = 0; k < D; ++k)
      for (int a = 0, s = 0; a < D; ++a)
        for (int b = a; b < D; ++b, ++s) {
          double sum = 0;
          for (int c = 0; hessian1 && c < D; ++c)
            for (int d = 0; d < D; ++d)
              sum += hessian1[(k * S + symmetricIndex<D>(c, d)) * count + i] * j0(c, a, i) * j0(d, b, i);
          for (int l = 0; hessian0 && l < D; ++l)
            sum += j1(k, l, i) * hessian0[(l * S + s) * count + i];
          out[(k * S + s) * count + i] = sum;
        }
  }
};

/// The adjoint of Composition with respect to J1: out = U J0^T + sum over a <= b of V[ab] H0[ab], U and V the
/// covectors of J and H.
template <int D>
void pullBackToJacobian(const Composition<D>& c, std::size_t i, const double* covJacobian,
                        const double* covHessian, double* out)
{
  constexpr int S = symmetricCount(D);
  for (int k = 0; k < D; ++k)
    for (int l = 0; l < D; ++l) {
      double sum = 0;
      for (int a = 0; covJacobian && a < D; ++a)
        sum += covJacobian[(k * D + a) * c.count + i] * c.j0(l, a, i);
      for (int s = 0; covHessian && c.hessian0 && s < S; ++s)
        sum += covHessian[(k * S + s) * c.count + i] * c.hessian0[(l * S + s) * c.count + i];
      out[(k * D + l) * c.count + i] = sum;
    }
}

/// The adjoint of Composition with respect to the stored (upper) entries of H1.
template <int D>
void pullBackToHessian(const Composition<D>& m, std::size_t i, const double* covHessian, double* out)
{
  constexpr int S = symmetricCount(D);
  for (int k = 0; k < D; ++k)
    for (int c = 0, t = 0; c < D; ++c)
      for (int d = c; d < D; ++d, ++t) {
        double sum = 0;
        for (int a = 0, s = 0; a < D; ++a)
          for (int b = a; b < D; ++b, ++s) {
            const double weight = c == d ? m.j0(c, a, i) * m.j0(c, b, i)
                                         : m.j0(c, a, i) * m.j0(d, b, i) + m.j0(d, a, i) * m.j0(c, b, i);
            sum += covHessian[(k * S + s) * m.count + i] * weight;
          }
        out[(k * S + t) * m.count + i] = sum;
      }
}

template <int D>
void addInitialDerivatives(Context& context, const TransformChain<D>& chain, const ListSamples<D>& samples,
                           double* jacobian, double* hessian)
{
  constexpr int S = symmetricCount(D);
  const std::size_t n = samples.count;
  Loan jacobian0(D * D * n), hessian0(hessian ? D * S * n : 0);
  chainSpatialDerivatives<D>(context, *chain.initial, samples, jacobian0.data(),
                             hessian ? hessian0.data() : nullptr);
  for (std::size_t i = 0; i < D * D * n; ++i)
    jacobian[i] += jacobian0.data()[i];
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < n; ++i)
      jacobian[(d * D + d) * n + i] -= 1;
  for (std::size_t i = 0; hessian && i < D * S * n; ++i)
    hessian[i] += hessian0.data()[i];
}

}

template <int D>
void mapInitial(Context& context, const TransformChain<D>& chain, const ListSamples<D>& samples,
                const PointsOut<D>& out)
{
  if (chain.initial && chain.combination == Combination::compose)
    mapChain<D>(context, *chain.initial, samples, out);
  else
    copyPoints<D>(samples, out);
}

template <int D>
void mapChain(Context& context, const TransformChain<D>& chain, const ListSamples<D>& samples,
              const PointsOut<D>& out)
{
  if (!chain.initial && !isSame<D>(samples, out)) {
    chain.transform->map(context, samples, chain.parameters, out);
    return;
  }
  PointLoan<D> first(samples.count);
  if (chain.initial)
    mapChain<D>(context, *chain.initial, samples, first.out());
  else
    copyPoints<D>(samples, first.out());
  if (!chain.initial || chain.combination == Combination::compose) {
    chain.transform->map(context, first.list(), chain.parameters, out);
    return;
  }
  PointLoan<D> last(samples.count);
  chain.transform->map(context, samples, chain.parameters, last.out());
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < samples.count; ++i)
      out[d][i] = sumOfLinks(samples.pointMm[d][i], first.out()[d][i], last.out()[d][i]);
}

template <int D>
void chainSpatialDerivatives(Context& context, const TransformChain<D>& chain, const ListSamples<D>& samples,
                             double* jacobian, double* hessian)
{
  constexpr int S = symmetricCount(D);
  if (!chain.initial || chain.combination == Combination::add) {
    derivativesOf(*chain.transform).spatialDerivatives(context, samples, chain.parameters, jacobian, hessian);
    if (chain.initial)
      addInitialDerivatives<D>(context, chain, samples, jacobian, hessian);
    return;
  }
  const std::size_t n = samples.count;
  const bool second0 = hessian && chainHasHessian<D>(*chain.initial),
             second1 = hessian && hasHessian(*chain.transform);
  Loan jacobian0(D * D * n), jacobian1(D * D * n), hessian0(second0 ? D * S * n : 0),
      hessian1(second1 ? D * S * n : 0);
  PointLoan<D> mapped(n);
  mapChain<D>(context, *chain.initial, samples, mapped.out());
  chainSpatialDerivatives<D>(context, *chain.initial, samples, jacobian0.data(),
                             second0 ? hessian0.data() : nullptr);
  derivativesOf(*chain.transform)
      .spatialDerivatives(context, mapped.list(), chain.parameters, jacobian1.data(),
                          second1 ? hessian1.data() : nullptr);
  const Composition<D> composition{n, jacobian0.data(), second0 ? hessian0.data() : nullptr, jacobian1.data(),
                                   second1 ? hessian1.data() : nullptr};
  composition.jacobians(jacobian);
  for (std::size_t i = 0; hessian && i < n; ++i)
    composition.hessian(i, hessian);
}

template <int D>
void pullBackChainSpatialDerivatives(Context& context, const TransformChain<D>& chain,
                                     const ListSamples<D>& samples, const double* covJacobian,
                                     const double* covHessian, std::span<double> gradient)
{
  constexpr int S = symmetricCount(D);
  if (!chain.initial || chain.combination == Combination::add) {
    derivativesOf(*chain.transform)
        .pullBackSpatialDerivatives(context, samples, chain.parameters, covJacobian, covHessian, gradient);
    return;
  }
  const std::size_t n = samples.count;
  const bool second0 = covHessian && chainHasHessian<D>(*chain.initial),
             second1 = covHessian && hasHessian(*chain.transform);
  const bool first1 = covJacobian || second0;
  Loan jacobian0(D * D * n), hessian0(second0 ? D * S * n : 0);
  Loan covJacobian1(first1 ? D * D * n : 0), covHessian1(second1 ? D * S * n : 0);
  PointLoan<D> mapped(n);
  mapChain<D>(context, *chain.initial, samples, mapped.out());
  chainSpatialDerivatives<D>(context, *chain.initial, samples, jacobian0.data(),
                             second0 ? hessian0.data() : nullptr);
  const Composition<D> composition{n, jacobian0.data(), second0 ? hessian0.data() : nullptr, nullptr,
                                   nullptr};
  for (std::size_t i = 0; i < n; ++i) {
    if (first1)
      pullBackToJacobian<D>(composition, i, covJacobian, covHessian, covJacobian1.data());
    if (second1)
      pullBackToHessian<D>(composition, i, covHessian, covHessian1.data());
  }
  derivativesOf(*chain.transform)
      .pullBackSpatialDerivatives(context, mapped.list(), chain.parameters,
                                  first1 ? covJacobian1.data() : nullptr,
                                  second1 ? covHessian1.data() : nullptr, gradient);
}

template <int D>
bool chainHasHessian(const TransformChain<D>& chain)
{
  return hasHessian(*chain.transform) || (chain.initial && chainHasHessian<D>(*chain.initial));
}

template <int D>
bool isLinearChain(const TransformChain<D>* chain)
{
  for (; chain; chain = chain->initial.get())
    if (!chain->transform->linear())
      return false;
  return true;
}

template <int D>
bool hasStack(const TransformChain<D>& chain)
{
  return dynamic_cast<const StackOfTransforms*>(chain.transform.get())
         || (chain.initial && hasStack(*chain.initial));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(mapInitial<D>, mapChain<D>, chainSpatialDerivatives<D>,
                                   pullBackChainSpatialDerivatives<D>, chainHasHessian<D>, isLinearChain<D>,
                                   hasStack<D>);

}
