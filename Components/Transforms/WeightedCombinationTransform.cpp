#include "Components/Transforms/WeightedCombinationTransform.h"

#include "Components/Transforms/Shared/LinearKernels.h"
#include "Components/Transforms/Shared/OnCuda/CombinationPasses.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Registration/TransformFiles/TransformFile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

const Parameter<std::string> subTransforms =
    textParameter("SubTransforms", "", Arity::list, "files of the transforms that are combined");
const Parameter<bool> normalizeCombinationWeights =
    booleanParameter("NormalizeCombinationWeights", false, Arity::single, "divide the weights by their sum");
const Parameter<bool> automaticScalesEstimation =
    booleanParameter("AutomaticScalesEstimation", false, Arity::single,
                     "scales are the mean squared lengths of the columns of dT/dw over the fixed image");
const Parameter<double> scalesParameter =
    realParameter("Scales", std::numeric_limits<double>::quiet_NaN(), Arity::list, "",
                  "scales of the weights, one for each; 1 if they are not given");

/// A file may name a combination in which it occurs itself, and a few files name each other billions of
/// times.
constexpr int maxNested = 16, maxFiles = 1000;
thread_local int nested = 0, filesRead = 0; // while one combination is read
struct Nesting {
  Nesting() { filesRead = nested++ == 0 ? 0 : filesRead; }
  ~Nesting() { --nested; }
};

template <int D>
ListSamples<D> part(const ListSamples<D>& samples, std::size_t first, std::size_t count)
{
  ListSamples<D> some = samples;
  for (int d = 0; d < D; ++d)
    some.pointMm[d] += first;
  some.count = count;
  return some;
}

}

/// Quantities q_i of the combined transforms that are 0 for the identity, and their combination
/// q = sum_i w_i q_i / n, where n is 1 or the sum of the weights.
template <int D>
class WeightedCombinationTransform<D>::Combined {
public:
  Combined(const WeightedCombinationTransform& transform, std::span<const double> weights, std::size_t length)
      : weights_(weights), length_(length), normalizes_(transform.normalizes_),
        divisor_(transform.divisor(weights)), parts_(weights.size() * length)
  {
  }

  /// q_i, to be filled in.
  double* of(std::size_t transform) { return parts_.data() + transform * length_; }

  const std::vector<double>& sum()
  {
    if (sum_.empty()) {
      sum_.resize(length_);
      for (std::size_t t = 0; t < weights_.size(); ++t)
        for (std::size_t i = 0; i < length_; ++i)
          sum_[i] += weights_[t] / divisor_ * parts_[t * length_ + i];
    }
    return sum_;
  }
  /// dq / dw_transform at entry i.
  double slope(std::size_t transform, std::size_t i)
  {
    return (parts_[transform * length_ + i] - (normalizes_ ? sum()[i] : 0)) / divisor_;
  }

private:
  std::span<const double> weights_;
  std::size_t length_;
  bool normalizes_;
  double divisor_;
  std::vector<double> parts_, sum_;
};

template <int D>
const ComponentDescription& WeightedCombinationTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform",
      "WeightedCombinationTransform",
      "x + sum_i w_i (T_i(x) - x), T_i from files",
      {subTransforms, normalizeCombinationWeights, automaticScalesEstimation, scalesParameter}};
  return description;
}

template <int D>
WeightedCombinationTransform<D>::WeightedCombinationTransform(const Parameters& parameters,
                                                              const Registry& registry)
    : settings_(parameters), files_(parameters.all(subTransforms)),
      normalizes_(parameters.get(normalizeCombinationWeights))
{
  const Nesting nesting;
  if (nested > maxNested)
    failAs(ExitCode::unreadableInput, parameters.where(subTransforms.name),
           "combinations within combinations, so many that one must contain itself",
           "at most " + std::to_string(maxNested) + " within each other");
  if (files_.empty())
    parameters.fail(subTransforms.name, "no transforms to combine",
                    "Allowed: the files of one or more transforms");
  const Parameters::Warn warn = [&](const std::string& line) { parameters.warn(line); };
  for (const std::string& file : files_) {
    const auto read = [&] {
      if (++filesRead > maxFiles)
        failAs(ExitCode::unreadableInput, parameters.where(subTransforms.name),
               "combinations within combinations, of too many files",
               "at most " + std::to_string(maxFiles) + " together, each as often as it is named");
      const std::string path = pathBesideTransformFile(parameters, subTransforms.name, file);
      digests_.push_back(transformDigest(path));
      transforms_.push_back(readTransformChain<D>({}, path, registry, warn));
    };
    if (nested == 1)
      withContext(parameters.where(subTransforms.name), read);
    else
      read();
  }
}

template <int D>
double WeightedCombinationTransform<D>::divisor(std::span<const double> weights) const
{
  const double sum = normalizes_ ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1;
  if (std::abs(sum) < 1e-10)
    failAs(ExitCode::registrationFailed, name(),
           "the sum of the weights is " + std::to_string(sum) + ", by which they cannot be normalized",
           "(NormalizeCombinationWeights \"false\"), or weights whose sum is not 0");
  return sum;
}

template <int D>
double WeightedCombinationTransform<D>::mappingWork() const
{
  double work = 0;
  for (const auto& combined : transforms_)
    for (const TransformChain<D>* link = combined.get(); link; link = link->initial.get())
      work += link->transform->mappingWork();
  return work;
}

template <int D>
std::string WeightedCombinationTransform<D>::whyNot(const TransformChain<D>& chain) const
{
  std::string why = whyTooLongForKernels<D>(chain);
  if (why.empty() && chain.initial)
    why = whyNotInKernels<D>(*chain.initial);
  for (const auto& combined : transforms_)
    if (why.empty())
      why = whyNotInKernels<D>(*combined);
  return why;
}

template <int D>
std::unique_ptr<ChainPasses<D>> WeightedCombinationTransform<D>::passes(const Context& context,
                                                                        const TransformChain<D>& chain) const
{
  return std::make_unique<CombinationPasses<D>>(context, chain, *this);
}

/// T_i(x) - x: component * count + sample.
template <int D>
typename WeightedCombinationTransform<D>::Combined
WeightedCombinationTransform<D>::displacements(Context& context, const ListSamples<D>& samples,
                                               std::span<const double> weights) const
{
  Combined combined(*this, weights, D * samples.count);
  for (std::size_t t = 0; t < transforms_.size(); ++t) {
    PointsOut<D> out;
    for (int d = 0; d < D; ++d)
      out[d] = combined.of(t) + d * samples.count;
    mapChain<D>(context, *transforms_[t], samples, out);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < samples.count; ++i)
        out[d][i] -= samples.pointMm[d][i];
  }
  return combined;
}

/// d (T_i(x) - x) / dx, then second derivatives, if they are asked for, in the layouts of SpatialDerivatives.
template <int D>
typename WeightedCombinationTransform<D>::Combined
WeightedCombinationTransform<D>::derivatives(Context& context, const ListSamples<D>& samples,
                                             std::span<const double> weights, bool withHessian) const
{
  const std::size_t first = D * D * samples.count, second = D * symmetricCount(D) * samples.count;
  Combined combined(*this, weights, first + (withHessian ? second : 0));
  for (std::size_t t = 0; t < transforms_.size(); ++t) {
    double* const jacobian = combined.of(t);
    chainSpatialDerivatives<D>(context, *transforms_[t], samples, jacobian,
                               withHessian ? jacobian + first : nullptr);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < samples.count; ++i)
        jacobian[(d * D + d) * samples.count + i] -= 1;
  }
  return combined;
}

template <int D>
void WeightedCombinationTransform<D>::map(Context& context, const ListSamples<D>& samples,
                                          std::span<const double> parameters, const PointsOut<D>& out) const
{
  Combined combined = displacements(context, samples, parameters);
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < samples.count; ++i)
      out[d][i] = samples.pointMm[d][i] + combined.sum()[d * samples.count + i];
}

template <int D>
void WeightedCombinationTransform<D>::pullBack(Context& context, const ListSamples<D>& samples,
                                               std::span<const double> parameters,
                                               const Covectors<D>& covectors,
                                               std::span<double> gradient) const
{
  Combined combined = displacements(context, samples, parameters);
  for (std::size_t t = 0; t < transforms_.size(); ++t)
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < samples.count; ++i)
        gradient[t] += covectors[d][i] * combined.slope(t, d * samples.count + i);
}

template <int D>
void WeightedCombinationTransform<D>::pushForward(Context& context, const ListSamples<D>& samples,
                                                  std::span<const double> parameters,
                                                  std::span<const double> step, const PointsOut<D>& out) const
{
  Combined combined = displacements(context, samples, parameters);
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < samples.count; ++i) {
      out[d][i] = 0;
      for (std::size_t t = 0; t < transforms_.size(); ++t)
        out[d][i] += step[t] * combined.slope(t, d * samples.count + i);
    }
}

/// 1/n sum over samples of J^T J, which is P x P.
template <int D>
std::vector<double> WeightedCombinationTransform<D>::meanProducts(Context& context,
                                                                  const ListSamples<D>& samples,
                                                                  std::span<const double> weights) const
{
  const std::size_t P = parameterCount();
  std::vector<double> products(P * P);
  for (std::size_t first = 0; first < samples.count; first += batchCapacity) {
    const ListSamples<D> batch = part<D>(samples, first, std::min(batchCapacity, samples.count - first));
    Combined combined = displacements(context, batch, weights);
    for (std::size_t k = 0; k < P; ++k)
      for (std::size_t l = 0; l < P; ++l)
        for (std::size_t i = 0; i < D * batch.count; ++i)
          products[k * P + l] +=
              combined.slope(k, i) * combined.slope(l, i) / static_cast<double>(samples.count);
  }
  return products;
}

template <int D>
std::vector<double> WeightedCombinationTransform<D>::scales(Context& context, const ListSamples<D>& samples,
                                                            std::span<const double> parameters) const
{
  const std::size_t P = parameterCount();
  if (settings_.get(automaticScalesEstimation)) {
    const std::vector<double> products = meanProducts(context, samples, parameters);
    std::vector<double> scales(P);
    for (std::size_t k = 0; k < P; ++k)
      scales[k] = products[k * P + k] > 0 ? products[k * P + k] : 1; // the identity has no gradient
    return scales;
  }
  std::vector<double> given = settings_.all(scalesParameter);
  if (given.empty())
    return std::vector<double>(P, 1.0);
  if (given.size() != P || std::ranges::min(given) <= 0)
    settings_.fail(scalesParameter.name, std::to_string(given.size()) + " values",
                   "Allowed: " + std::to_string(P) + " values above 0, one for each transform");
  return given;
}

template <int D>
JacobianTerms WeightedCombinationTransform<D>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                             std::span<const double> parameters,
                                                             std::span<const double> scales) const
{
  const std::size_t P = parameterCount();
  std::vector<double> c = meanProducts(context, samples, parameters);
  JacobianTerms terms;
  for (std::size_t k = 0; k < P; ++k)
    for (std::size_t l = 0; l < P; ++l) {
      double& entry = c[k * P + l];
      entry /= std::sqrt(scales[k] * scales[l]);
      terms.frobeniusC2 += entry * entry;
      terms.traceC += k == l ? entry : 0;
    }
  for (std::size_t first = 0; first < samples.count; first += batchCapacity) {
    const ListSamples<D> batch = part<D>(samples, first, std::min(batchCapacity, samples.count - first));
    Combined combined = displacements(context, batch, parameters);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const auto j = [&](std::size_t k, int d) {
        return combined.slope(k, d * batch.count + i) / std::sqrt(scales[k]);
      };
      Matrix<D> jj{}, jcj{};
      for (std::size_t k = 0; k < P; ++k)
        for (int p = 0; p < D; ++p)
          for (int q = 0; q < D; ++q) {
            jj[p][q] += j(k, p) * j(k, q);
            for (std::size_t l = 0; l < P; ++l)
              jcj[p][q] += j(k, p) * c[k * P + l] * j(l, q);
          }
      terms.maxJJ = std::max(terms.maxJJ, linear::sizeOf<D>(jj));
      terms.maxJCJ = std::max(terms.maxJCJ, linear::sizeOf<D>(jcj));
    }
  }
  return terms;
}

template <int D>
void WeightedCombinationTransform<D>::spatialDerivatives(Context& context, const ListSamples<D>& samples,
                                                         std::span<const double> parameters, double* jacobian,
                                                         double* hessian) const
{
  Combined combined = derivatives(context, samples, parameters, hessian != nullptr);
  const auto second = combined.sum().begin() + static_cast<std::ptrdiff_t>(D * D * samples.count);
  std::copy(combined.sum().begin(), second, jacobian);
  if (hessian)
    std::copy(second, combined.sum().end(), hessian);
  for (int d = 0; d < D; ++d)
    for (std::size_t i = 0; i < samples.count; ++i)
      jacobian[(d * D + d) * samples.count + i] += 1;
}

template <int D>
void WeightedCombinationTransform<D>::pullBackSpatialDerivatives(
    Context& context, const ListSamples<D>& samples, std::span<const double> parameters,
    const double* covJacobian, const double* covHessian, std::span<double> gradient) const
{
  Combined combined = derivatives(context, samples, parameters, covHessian != nullptr);
  const std::size_t first = D * D * samples.count, second = D * symmetricCount(D) * samples.count;
  for (std::size_t t = 0; t < transforms_.size(); ++t) {
    for (std::size_t i = 0; i < first && covJacobian; ++i)
      gradient[t] += covJacobian[i] * combined.slope(t, i);
    for (std::size_t i = 0; i < second && covHessian; ++i)
      gradient[t] += covHessian[i] * combined.slope(t, first + i);
  }
}

template <int D>
bool WeightedCombinationTransform<D>::hasHessian() const
{
  return std::ranges::any_of(transforms_, [](const auto& chain) { return chainHasHessian<D>(*chain); });
}

template <int D>
std::vector<FileEntry> WeightedCombinationTransform<D>::fileEntries() const
{
  return {{normalizeCombinationWeights.name, {normalizes_ ? "true" : "false"}, {}},
          {subTransforms.name, files_, {}},
          {subTransformsDigest, digests_, {}}};
}

template <int D>
std::vector<double> WeightedCombinationTransform<D>::restore(const Context&, const Parameters& transformFile)
{
  return readTransformParameters(transformFile, parameterCount(),
                                 std::to_string(parameterCount()) + " transforms in SubTransforms");
}

TESSERA_INSTANTIATE_CLASS(WeightedCombinationTransform);

}
