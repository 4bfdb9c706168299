#include "Components/Metrics/TransformBendingEnergyPenalty.h"

#include "Components/Transforms/BSplineTransform.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Vectors/VectorOps.h"

#include <cmath>

namespace tessera {
namespace {

const Parameter<std::string> bendingEnergyIntegration =
    textParameter("BendingEnergyIntegration", "Sampled", Arity::single,
                  "Sampled: mean over the sampler's points, of the whole chain; Exact: integral over the "
                  "fixed image in closed form, of the last transform alone, a BSplineTransform",
                  {"Sampled", "Exact"});

const Parameter<std::string> bendingEnergyUnit =
    textParameter("BendingEnergyUnit", "Millimetre", Arity::single,
                  "Millimetre: second derivatives of mm by mm; Voxel: of voxels by voxels of the level's "
                  "fixed image, so that one weight suits images of any spacing",
                  {"Millimetre", "Voxel"});

/// How often each stored entry of a symmetric matrix occurs in the whole matrix: once on the diagonal, twice
/// off it.
template <int D>
constexpr std::array<double, symmetricCount(D)> multiplicities()
{
  std::array<double, symmetricCount(D)> m{};
  for (int row = 0, s = 0; row < D; ++row)
    for (int column = row; column < D; ++column, ++s)
      m[s] = row == column ? 1 : 2;
  return m;
}

/// Returns the sum of |H|^2 and replaces H by d sum / d H.
template <int D>
double energyAndCovector(double* hessian, std::size_t count)
{
  constexpr auto multiplicity = multiplicities<D>();
  double energy = 0;
  for (int k = 0; k < D; ++k)
    for (int s = 0; s < symmetricCount(D); ++s) {
      double* h = hessian + (k * symmetricCount(D) + s) * count;
      double squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        squares += h[i] * h[i];
        h[i] *= 2 * multiplicity[s];
      }
      energy += multiplicity[s] * squares;
    }
  return energy;
}

template <int D>
double sumOfEnergies(Context& context, const TransformChain<D>& chain, const ListSamples<D>& points,
                     std::span<double> gradient)
{
  constexpr std::size_t samplesAtOnce = MeanOverSamples<D>::samplesAtOnce;
  thread_local std::vector<double> jacobian(D * D * samplesAtOnce),
      hessian(D * symmetricCount(D) * samplesAtOnce);
  chainSpatialDerivatives<D>(context, chain, points, jacobian.data(), hessian.data());
  const double sum = energyAndCovector<D>(hessian.data(), points.count);
  if (!gradient.empty())
    pullBackChainSpatialDerivatives<D>(context, chain, points, nullptr, hessian.data(), gradient);
  return sum;
}

}

template <int D>
TransformBendingEnergyPenalty<D>::TransformBendingEnergyPenalty(const Parameters& parameters)
    : parameters_(parameters), validSampleRule_(parameters),
      isExact_(parameters.get(bendingEnergyIntegration) == "Exact"),
      isInVoxels_(parameters.get(bendingEnergyUnit) == "Voxel")
{
}

template <int D>
const ComponentDescription& TransformBendingEnergyPenalty<D>::description()
{
  static const ComponentDescription description{
      "Metric", "TransformBendingEnergyPenalty",
      "mean squared second derivatives of the transform (Rueckert et al. 1999)",
      joinedRows({ValidSampleRule::parameters(), {bendingEnergyIntegration, bendingEnergyUnit}})};
  return description;
}

template <int D>
void TransformBendingEnergyPenalty<D>::checkTransform(const Transform<D>& transform) const
{
  if (isExact_ && !dynamic_cast<const BSplineTransform<D>*>(&transform))
    parameters_.fail(bendingEnergyIntegration.name, "\"Exact\" with (Transform \"" + transform.name() + "\")",
                     "Allowed: \"Sampled\", or (Transform \"BSplineTransform\")");
}

template <int D>
double TransformBendingEnergyPenalty<D>::hostBytes(const TermExtent& extent) const
{
  const bool isClosed = isExact_ || (extent.isLattice && !extent.goesByPoints && !extent.hasMasks);
  return isClosed ? 0 : stripeBytes(extent.positions, extent.parameters);
}

template <int D>
void TransformBendingEnergyPenalty<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  level_ = level;
  squareMmOfUnit_ = 1;
  if (isInVoxels_)
    for (const double spacingMm : level.fixed->geometry.spacingMm)
      squareMmOfUnit_ *= std::pow(spacingMm, 2.0 / D);
  exact_.reset();
  overVoxels_.reset();
  voxels_.reset();
  onCuda_.reset();
  closedValue_ = {};
  const MemoryPart part(context, "penalties");
  if (context.onCuda()) {
    closedValue_ = Buffer<double>(context, 1);
    closedValueFound_ = PinnedValues<double>(context, 1);
  }
  if (isExact_)
    return prepareExact(context);
  if (!chainHasHessian<D>(*level.chain))
    return;
  // With no samples, only to throw if a transform has no second derivatives.
  chainSpatialDerivatives<D>(context, *level.chain, {}, nullptr, nullptr);
  if (!context.onCuda())
    return;
  onCuda_ =
      std::make_unique<JetPenaltyOnCuda<D>>(context, level, JetFormula::bendingEnergy, JetSettings<D>{});
  for (const ExpectedSamples<D>& samples : level.expected)
    if (ExactBendingEnergy<D>* form = samples.lattice ? closedForm(*samples.lattice) : nullptr)
      form->reserve(context);
    else
      onCuda_->reserve(context, samples);
}

template <int D>
void TransformBendingEnergyPenalty<D>::prepareExact(const Context& context)
{
  const TransformChain<D>& chain = *level_.chain;
  checkTransform(*chain.transform);
  const auto* spline = static_cast<const BSplineTransform<D>*>(chain.transform.get());
  if (chain.initial && chain.combination == Combination::compose)
    exact_.emplace(spline->grid());
  else
    exact_.emplace(spline->grid(), level_.fixed->geometry);
  if (context.onCuda())
    exact_->reserve(context);
}

/// The closed form of the energy over these samples, or null if every sample has to be visited.
template <int D>
ExactBendingEnergy<D>* TransformBendingEnergyPenalty<D>::closedForm(const SampleSet<D>& samples)
{
  if (exact_)
    return &*exact_;
  const auto* lattice = std::get_if<VoxelLattice<D>>(&samples);
  if (!lattice || lattice->mask || level_.movingMask)
    return nullptr;
  if (voxels_ != *lattice) {
    voxels_ = *lattice;
    overVoxels_ = overVoxels(*lattice);
  }
  return overVoxels_ ? &*overVoxels_ : nullptr;
}

template <int D>
std::optional<ExactBendingEnergy<D>>
TransformBendingEnergyPenalty<D>::overVoxels(const VoxelLattice<D>& lattice) const
{
  const TransformChain<D>& chain = *level_.chain;
  const auto* spline = dynamic_cast<const BSplineTransform<D>*>(chain.transform.get());
  const bool bendsAlone =
      !chain.initial || (chain.combination == Combination::add && !chainHasHessian<D>(*chain.initial));
  return spline && bendsAlone ? ExactBendingEnergy<D>::overVoxels(spline->grid(), lattice) : std::nullopt;
}

template <int D>
void TransformBendingEnergyPenalty<D>::endLevel()
{
  exact_.reset();
  overVoxels_.reset();
  voxels_.reset();
  closedValue_ = {};
  closedValueFound_ = {};
  onCuda_.reset();
}

template <int D>
TermOnCuda<D>* TransformBendingEnergyPenalty<D>::onCuda()
{
  const bool closes = exact_ && closedValue_.size() > 0; // the buffer is allocated on CUDA alone
  return closes || onCuda_ ? this : nullptr;
}

template <int D>
TermValue TransformBendingEnergyPenalty<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                         std::span<const double> parameters,
                                                         std::span<double> gradient)
{
  if (ExactBendingEnergy<D>* form = closedForm(samples)) {
    const std::size_t positions = isExact_ ? 0 : positionCount<D>(samples);
    const double energy = form->evaluate(context, parameters, gradient);
    toUnit(context, gradient);
    return {squareMmOfUnit_ * energy, positions, positions};
  }
  if (!chainHasHessian<D>(*level_.chain)) {
    fill(vectorContext<D>(context, *level_.chain->transform), 0, gradient);
    return {};
  }
  TermValue result = validSampleRule_.checked(
      level_.level, mean_.evaluate(context, samples, chain_(*level_.chain, parameters),
                                   level_.movingMask.get(), gradient, sumOfEnergies<D>));
  result.value *= squareMmOfUnit_;
  toUnit(context, gradient);
  return result;
}

template <int D>
void TransformBendingEnergyPenalty<D>::enqueue(Context& context, const SampleSet<D>& samples,
                                               std::span<const double> parameters, std::span<double> gradient)
{
  closedPositions_.reset();
  if (ExactBendingEnergy<D>* form = closedForm(samples)) {
    form->evaluateOnCuda(context, parameters, gradient, closedValue_.span().data());
    closedValueFound_.copyLater(closedValue_.span().data());
    closedPositions_ = isExact_ ? 0 : positionCount<D>(samples);
  } else {
    onCuda_->enqueue(context, samples, parameters, gradient);
  }
  const Context vectors = vectorContext<D>(context, *level_.chain->transform);
  if (vectors.onCuda())
    toUnit(vectors, gradient);
}

template <int D>
TermValue TransformBendingEnergyPenalty<D>::collect(std::span<const double> parameters,
                                                    std::span<double> gradient)
{
  if (closedPositions_)
    return {squareMmOfUnit_ * closedValueFound_[0], *closedPositions_, *closedPositions_};
  TermValue result = validSampleRule_.checked(level_.level, onCuda_->collect(parameters, gradient));
  result.value *= squareMmOfUnit_;
  if (level_.chain->transform->linear()) // its gradient lies on the host
    toUnit(Context(), gradient);
  return result;
}

template <int D>
void TransformBendingEnergyPenalty<D>::toUnit(const Context& vectors, std::span<double> gradient) const
{
  if (squareMmOfUnit_ != 1 && !gradient.empty())
    scaleInto(vectors, squareMmOfUnit_, gradient, gradient);
}

TESSERA_INSTANTIATE_CLASS(TransformBendingEnergyPenalty);

}
