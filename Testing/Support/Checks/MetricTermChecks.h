#pragma once

// Cases that metrics with a term of their own share. metricOf(scene, text) makes a metric with these
// parameters that is prepared for the scene's level.

#include "Testing/Support/Scenes/BendingScenes.h"

#include <string>

namespace tessera::testing {

/// The gradient where the registered transform is alone, composed and added.
template <int D, class MetricOf>
void expectGradientsInChains(MetricOf&& metricOf, double step, double tolerance)
{
  TermScene<D> scene(3, unequalSize<D>());
  scene.useAffine();
  scene.chain->parameters.back() += 2;
  const auto expectGradient = [&](const std::string& what) {
    SCOPED_TRACE(what);
    auto metric = metricOf(scene, "");
    expectGradientMatchesFiniteDifferences<D>(metric, scene.points(700, 0.2), scene.chain->parameters, step,
                                              tolerance);
  };
  expectGradient("affine");
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectGradient("B-spline after affine");
  scene.useAsInitial(Combination::add);
  useBSpline<D>(scene, 2, false);
  expectGradient("B-spline added to both");
}

/// About half of the samples map into a mask of half the moving image. Returns the scene with the mask.
template <class MetricOf>
TermScene<3> expectMovingMaskCounts(MetricOf&& metricOf)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  const SampleSet<3> samples = scene.lattice(1);
  const double middleMm = scene.moving->geometry.centerMm()[0];
  const std::size_t all = metricOf(scene, "").evaluate(host, samples, scene.chain->parameters, {}).valid;
  scene.level.movingMask = std::make_shared<Mask<3>>(
      drawMask<3>(scene.moving->geometry, [&](const Vec<3>& p) { return p[0] > middleMm; }));

  const TermValue found = metricOf(scene, "(RequiredRatioOfValidSamples 0.1)")
                              .evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_GT(found.valid, all / 4);
  EXPECT_LT(found.valid, 3 * all / 4);
  return scene;
}

template <class MetricOf>
void expectMetricRepeatsItsBits(MetricOf&& metricOf)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  auto metric = metricOf(scene, "");

  expectSameBitsForAnyThreadCount<3>(metric, scene.lattice(1), scene.chain->parameters);
}

}
