#include "Components/Transforms/Shared/OnCuda/ChainJet.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Metrics/TransformFoldingPenalty.h"
#include "Testing/Support/Scenes/ChainOnHost.h"
#include "Testing/Support/Scenes/ModelScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
Vec<D> pointAt(const PointList<D>& list, std::size_t i)
{
  Vec<D> pointMm;
  for (int d = 0; d < D; ++d)
    pointMm[d] = list.mm[d][i];
  return pointMm;
}

template <int D>
void expectTheChainsDerivatives(const TermScene<D>& scene, const std::string& what)
{
  constexpr std::size_t n = 200;
  constexpr int S = symmetricCount(D);
  const PointList<D> list = std::get<PointList<D>>(scene.points(n, -0.05));
  ListSamples<D> samples;
  for (int d = 0; d < D; ++d)
    samples.pointMm[d] = list.mm[d].data();
  samples.count = n;
  std::vector<double> jacobian(D * D * n), hessian(D * S * n);
  checks::Points<D> mapped(n);
  mapChain<D>(host, *scene.chain, samples, mapped.out());
  chainSpatialDerivatives<D>(host, *scene.chain, samples, jacobian.data(), hessian.data());
  const ChainOnHost<D> onHost(scene.chain);

  for (std::size_t i = 0; i < n; ++i) {
    Jet<D> jet, before;
    jetOfChain<D>(onHost.chain, pointAt<D>(list, i), jet, before);
    for (int k = 0; k < D; ++k) { // some hundred roundings of numbers of these sizes
      EXPECT_NEAR(jet.pointMm[k], mapped.mm[k][i], 1e-12 * (1 + std::abs(mapped.mm[k][i]))) << what;
      for (int j = 0; j < D; ++j)
        EXPECT_NEAR(jet.jacobian[k][j], jacobian[(k * D + j) * n + i], 1e-13) << what;
      for (int s = 0; s < S; ++s)
        EXPECT_NEAR(jet.hessian[k][s], hessian[(k * S + s) * n + i],
                    1e-13 * (1 + std::abs(hessian[(k * S + s) * n + i])))
            << what;
    }
  }
}

template <int D>
struct Bending {
  using Penalty = TransformBendingEnergyPenalty<D>;
  static double penalty(const Jet<D>& jet) { return bendingEnergy<D>(jet); }
  static void ofJacobian(const Jet<D>& jet, const Jet<D>& before, double (&covector)[D][D])
  {
    bendingCovectorOfJacobian<D>(jet, before, covector);
  }
  static void ofIndex(const Jet<D>& jet, const Jet<D>& before, const double (&axes)[D][D],
                      const double (&ofJacobian)[D][D], int k, double (&covector)[D + symmetricCount(D)])
  {
    bendingCovectorOfIndex<D>(jet, before, axes, ofJacobian, k, covector);
  }
};

template <int D>
struct Folding {
  using Penalty = TransformFoldingPenalty<D>;
  static double penalty(const Jet<D>& jet) { return foldingPenalty<D>(jet, 0); }
  static void ofJacobian(const Jet<D>& jet, const Jet<D>& before, double (&covector)[D][D])
  {
    foldingCovectorOfJacobian<D>(jet, before, 0, covector);
  }
  static void ofIndex(const Jet<D>&, const Jet<D>&, const double (&axes)[D][D],
                      const double (&ofJacobian)[D][D], int k, double (&covector)[D + symmetricCount(D)])
  {
    double first[D];
    covectorOfIndex<D>(axes, ofJacobian[k], first);
    std::ranges::fill(covector, 0.0);
    std::ranges::copy(first, covector);
  }
};

template <int D, class Formula, int Order>
void pullBackToPoints(const TransformOnCuda<D>& t, const Jet<D>& jet, const Jet<D>& before,
                      std::vector<double>& gradient)
{
  constexpr int entries = D + symmetricCount(D);
  Vec<D> atMm;
  for (int d = 0; d < D; ++d)
    atMm[d] = before.pointMm[d];
  SupportOnCuda<D, Order> support;
  if (!support.find(t, atMm))
    return;
  const JetWeights<D, Order> w(support);
  double axes[D][D], ofJacobian[D][D], covector[entries];
  gridAxes<D>(t, axes);
  Formula::ofJacobian(jet, before, ofJacobian);
  for (int k = 0; k < t.components(); ++k) {
    Formula::ofIndex(jet, before, axes, ofJacobian, k, covector);
    for (int l = 0; l <= Order; ++l)
      for (int m = 0; m < support.middleTaps; ++m)
        for (int x = 0; x <= Order; ++x) {
          int taps[D] = {x};
          taps[D == 3 ? 1 : 0] = D == 3 ? m : x;
          taps[D - 1] = l;
          double value[D], first[D], second[D], weights[entries];
          for (int d = 0; d < D; ++d) {
            value[d] = w.value[d][taps[d]];
            first[d] = w.first[d][taps[d]];
            second[d] = w.second[d][taps[d]];
          }
          derivativeWeights<D>(value, first, second, weights);
          for (int e = 0; e < entries; ++e)
            gradient[k * t.pointCount() + support.first + support.slices[l] + m * support.rowStride + x] +=
                covector[e] * weights[e];
        }
  }
}

/// By the transform itself, whose axes are those of the world.
template <int D, class Formula>
void pullBackToLandmarks(const Transform<D>& spline, const std::vector<double>& parameters, const Jet<D>& jet,
                         const Jet<D>& before, std::vector<double>& gradient)
{
  constexpr int entries = D + symmetricCount(D);
  double axes[D][D], ofJacobian[D][D];
  TransformOnCuda<D> form;
  form.pointToIndex.fromOffset = identityMatrix<D>();
  gridAxes<D>(form, axes);
  Formula::ofJacobian(jet, before, ofJacobian);
  std::vector<double> covJacobian, covHessian;
  for (int k = 0; k < D; ++k) {
    double covector[entries];
    Formula::ofIndex(jet, before, axes, ofJacobian, k, covector);
    covJacobian.insert(covJacobian.end(), covector, covector + D);
    covHessian.insert(covHessian.end(), covector + D, covector + entries);
  }
  ListSamples<D> point;
  for (int d = 0; d < D; ++d)
    point.pointMm[d] = &before.pointMm[d];
  point.count = 1;
  spline.differentiable()->pullBackSpatialDerivatives(host, point, parameters, covJacobian.data(),
                                                      covHessian.data(), gradient);
}

template <int D, class Formula>
void expectThePenaltysGradient(const TermScene<D>& scene, const std::string& what)
{
  const SampleSet<D> samples = scene.points(400, -0.05);
  const PointList<D>& list = std::get<PointList<D>>(samples);
  typename Formula::Penalty penalty(parametersOf("", D, 1, "Metric0"));
  penalty.prepareForLevel(host, scene.level);
  const std::vector<double> expected = gradientOf<D>(penalty, samples, scene.chain->parameters);
  const ChainOnHost<D> onHost(scene.chain);
  const TransformOnCuda<D>& last = onHost.chain.links[onHost.chain.count - 1];

  std::vector<double> gradient(expected.size());
  CovectorMoments<D> moments;
  double sum = 0;
  for (std::size_t i = 0; i < list.positions(); ++i) {
    Jet<D> jet, before;
    jetOfChain<D>(onHost.chain, pointAt<D>(list, i), jet, before);
    sum += Formula::penalty(jet);
    double ofJacobian[D][D];
    Formula::ofJacobian(jet, before, ofJacobian);
    for (int k = 0; k < D; ++k)
      for (int l = 0; l < D; ++l)
        moments.outer[k][l] += ofJacobian[k][l];
    if (last.kind == TransformKind::linear)
      continue;
    if (last.kind == TransformKind::kernelSpline) {
      pullBackToLandmarks<D, Formula>(*scene.chain->transform, scene.chain->parameters, jet, before,
                                      gradient);
      continue;
    }
    if (last.order == 3)
      pullBackToPoints<D, Formula, 3>(last, jet, before, gradient);
    else if (last.order == 2)
      pullBackToPoints<D, Formula, 2>(last, jet, before, gradient);
    else
      pullBackToPoints<D, Formula, 1>(last, jet, before, gradient);
  }
  if (last.kind == TransformKind::linear)
    scene.chain->transform->linear()->pullBackMoments(scene.chain->parameters, moments, gradient);

  const auto count = static_cast<double>(list.positions());
  const double value = penalty.evaluate(host, samples, scene.chain->parameters, {}).value;
  EXPECT_NEAR(sum / count, value, 1e-12 * value) << what;
  const double norm = checks::norm(expected);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(gradient[i] / count, expected[i], 1e-12 * norm)
        << what << ", parameter " << i; // sums in another order
}

TEST(ChainJetTest, AgreesWithTheTransformsInAllChains)
{
  forEachBendingScene<2>(
      [](const TermScene<2>& scene, const std::string& what) { expectTheChainsDerivatives<2>(scene, what); });
  forEachBendingScene<3>(
      [](const TermScene<3>& scene, const std::string& what) { expectTheChainsDerivatives<3>(scene, what); });
  forEachModelScene<2>(false, expectTheChainsDerivatives<2>);
  forEachModelScene<3>(false, expectTheChainsDerivatives<3>);
}

template <template <int> class Formula>
void expectGradientsInAllChains()
{
  forEachBendingScene<2>(expectThePenaltysGradient<2, Formula<2>>);
  forEachBendingScene<3>(expectThePenaltysGradient<3, Formula<3>>);
  forEachModelScene<2>(false, expectThePenaltysGradient<2, Formula<2>>);
  forEachModelScene<3>(false, expectThePenaltysGradient<3, Formula<3>>);
}

TEST(ChainJetTest, CovectorsOfTheBendingEnergyGiveThePenaltysGradient)
{
  expectGradientsInAllChains<Bending>();
}

TEST(ChainJetTest, CovectorsOfTheFoldingPenaltyGiveThePenaltysGradient)
{
  expectGradientsInAllChains<Folding>();
}

}
}
