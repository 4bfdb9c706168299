#pragma once

// Checks of cost terms: a pair of phantoms, chains, samples and gradients.

#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Core/Registration/CostTerm.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// A link without a transform so far, after the chain `initial`.
template <int D>
std::shared_ptr<TransformChain<D>> linkAfter(const ChainPointer<D>& initial, Combination combination)
{
  return std::make_shared<TransformChain<D>>(TransformChain<D>{initial, combination, {}});
}

/// Two drawings of the same blobs, the moving one displaced and on another grid, with what a level's term
/// needs.
template <int D>
struct TermScene {
  ImagePointer<D> fixed, moving;
  std::unique_ptr<BSplineInterpolator<D>> interpolator;
  std::shared_ptr<TransformChain<D>> chain = std::make_shared<TransformChain<D>>();
  TermLevel<D> level;

  explicit TermScene(int interpolationOrder, const Size<D>& size, double shiftMm = 1.3)
  {
    const ImageGeometry<D> fixedGeometry = obliqueGeometry<D>(size);
    ImageGeometry<D> movingGeometry = fixedGeometry;
    for (int d = 0; d < D; ++d)
      movingGeometry.spacingMm[d] *= 1.1;
    const auto blobs = scatteredBlobs<D>(fixedGeometry, 12, 5);
    const auto intensity = [&](Vec<D> pointMm, double shift) {
      for (int d = 0; d < D; ++d)
        pointMm[d] += shift;
      return sumOf(blobs, pointMm);
    };
    fixed = std::make_shared<Image<D>>(
        drawImage<D>(fixedGeometry, [&](const Vec<D>& p) { return intensity(p, 0); }));
    moving = std::make_shared<Image<D>>(
        drawImage<D>(movingGeometry, [&](const Vec<D>& p) { return 300 - intensity(p, shiftMm); }));
    interpolator = std::make_unique<BSplineInterpolator<D>>(parametersOf(
        "(BSplineInterpolationOrder " + std::to_string(interpolationOrder) + ")", D, 1, "Interpolator0"));
    interpolator->prepareForLevel(host, moving, 0);
    level.fixed = fixed;
    level.moving = moving;
    level.interpolator = interpolator.get();
    level.chain = chain.get();
  }

  /// A transform with parameters a little off the identity.
  void use(std::shared_ptr<OptimizableTransform<D>> transform, double amplitude)
  {
    chain->parameters = transform->initialize(host, {fixed, moving, nullptr, nullptr, nullptr});
    transform->prepareForLevel(host, 0, chain->parameters);
    const std::vector<double> noise =
        checks::randomVector(chain->parameters.size(), 3, -amplitude, amplitude);
    for (std::size_t i = 0; i < noise.size(); ++i)
      chain->parameters[i] += noise[i];
    chain->transform = transform;
  }
  void useAffine() { use(std::make_shared<AffineTransform<D>>(parametersOf("", D, 1, "Transform0")), 0.02); }
  void useBSpline()
  {
    use(std::make_shared<BSplineTransform<D>>(
            parametersOf("(FinalGridSpacingInPhysicalUnits 12)", D, 1, "Transform0")),
        1.5);
  }
  /// The transform in use becomes T0.
  void useAsInitial(Combination combination)
  {
    chain = linkAfter<D>(chain, combination);
    level.chain = chain.get();
  }

  /// Points between voxels, uniform over the inner part of the fixed image, with made-up fixed intensities
  /// from the image.
  SampleSet<D> points(std::size_t count, double margin = 0.15) const
  {
    PointList<D> list;
    for (auto& axis : list.mm)
      axis.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto words = randomWords(Draw{}, static_cast<std::uint32_t>(i), 0);
      Vec<D> index;
      for (int d = 0; d < D; ++d)
        index[d] = (margin + (1 - 2 * margin) * unitUniform(words[d]))
                   * (static_cast<double>(fixed->geometry.size[d]) - 1);
      const Vec<D> pointMm = fixed->geometry.pointFromIndex()(index);
      std::size_t offset = 0, stride = 1;
      for (int d = 0; d < D; ++d) {
        list.mm[d][i] = pointMm[d];
        const double nearest = std::clamp(index[d], 0.0, static_cast<double>(fixed->geometry.size[d]) - 1);
        offset += stride * static_cast<std::size_t>(nearest);
        stride *= fixed->geometry.size[d];
      }
      list.fixed.push_back(fixed->voxels[offset]);
    }
    return list;
  }
  SampleSet<D> lattice(std::size_t step) const
  {
    VoxelLattice<D> lattice{fixed, level.fixedMask, {}, {}, {}};
    lattice.step.fill(step);
    for (int d = 0; d < D; ++d)
      lattice.count[d] = (fixed->geometry.size[d] - 1) / step + 1;
    return lattice;
  }
};

template <int D>
std::vector<double> gradientOf(CostTerm<D>& term, const SampleSet<D>& samples,
                               const std::vector<double>& parameters, int threads = 1)
{
  Context context{{}, threads};
  std::vector<double> gradient(parameters.size(), 1e30); // must be overwritten
  term.evaluate(context, samples, parameters, gradient);
  return gradient;
}

/// <gradient, s> against central differences of the value along s: each of the first parameters alone, then
/// three random directions. `tolerance` is a share of |gradient| |s|.
template <int D>
void expectGradientMatchesFiniteDifferences(CostTerm<D>& term, const SampleSet<D>& samples,
                                            const std::vector<double>& parameters, double step,
                                            double tolerance)
{
  const std::vector<double> gradient = gradientOf<D>(term, samples, parameters);
  const double gradientNorm = checks::norm(gradient);
  ASSERT_GT(gradientNorm, 0);
  const auto valueAt = [&](const std::vector<double>& at) {
    return term.evaluate(host, samples, at, {}).value;
  };
  const std::size_t singles = std::min<std::size_t>(parameters.size(), 12);
  for (std::size_t trial = 0; trial < singles + 3; ++trial) {
    std::vector<double> direction(parameters.size(), 0.0);
    if (trial < singles)
      direction[trial] = 1;
    else
      direction = checks::randomVector(parameters.size(), trial);
    const double expected = (valueAt(checks::moved(parameters, step, direction))
                             - valueAt(checks::moved(parameters, -step, direction)))
                            / (2 * step);
    EXPECT_NEAR(std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0), expected,
                tolerance * gradientNorm * checks::norm(direction))
        << "trial " << trial;
  }
}

template <int D>
void expectSameBitsForAnyThreadCount(CostTerm<D>& term, const SampleSet<D>& samples,
                                     const std::vector<double>& parameters)
{
  std::vector<double> first;
  double firstValue = 0;
  for (const int threads : {1, 2, 3, 1}) {
    Context context{{}, threads};
    std::vector<double> gradient(parameters.size());
    const double value = term.evaluate(context, samples, parameters, gradient).value;
    if (first.empty()) {
      first = gradient;
      firstValue = value;
    }
    EXPECT_EQ(value, firstValue) << threads << " threads";
    EXPECT_EQ(gradient, first) << threads << " threads";
    EXPECT_EQ(term.evaluate(context, samples, parameters, {}).value, firstValue)
        << "value alone, " << threads << " threads";
  }
}

/// The result of a term, on the host.
struct TermEvaluation {
  TermValue term;
  std::vector<double> gradient;
};

/// One evaluation at the scene's parameters, on any device.
template <int D, class Scene = TermScene<D>>
TermEvaluation evaluateTerm(Context context, CostTerm<D>& term, const Scene& scene,
                            const SampleSet<D>& samples, bool withGradient = true)
{
  term.prepareForLevel(context, scene.level);
  const Context vectors = vectorContext<D>(context, *scene.chain->transform);
  Buffer<double> position, gradient;
  position.fromHost(vectors, scene.chain->parameters);
  if (withGradient)
    gradient.fromHost(vectors,
                      std::vector<double>(scene.chain->parameters.size(), 1e30)); // must be overwritten
  const TermValue value = term.evaluate(context, samples, std::as_const(position).span(), gradient.span());
  return {value, gradient.toHost(vectors)};
}

}
