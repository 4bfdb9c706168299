#pragma once

#include "Testing/Support/Checks/TermChecks.h"

namespace tessera::testing {

/// A B-spline with random coefficients of at most `largestMm`.
template <int D>
void useBSpline(TermScene<D>& scene, int order, bool cyclic, double largestMm = 1.5)
{
  const std::string text = "(FinalGridSpacingInPhysicalUnits 9)\n(BSplineTransformSplineOrder "
                           + std::to_string(order) + ")\n(UseCyclicTransform \"" + (cyclic ? "true" : "false")
                           + "\")";
  scene.use(std::make_shared<BSplineTransform<D>>(parametersOf(text, D, 1, "Transform0")), largestMm);
}

/// The size of a small image whose sides differ.
template <int D>
Size<D> unequalSize()
{
  return perAxis<D>(std::size_t(D == 2 ? 41 : 27), -5);
}

/// Visits all ways a B-spline can stand in a chain: alone, after and before an affine transform and another
/// B-spline, composed and added, and alone with every order and cyclic.
template <int D, class Visit>
void forEachBendingScene(Visit&& visit)
{
  TermScene<D> scene(1, unequalSize<D>());
  const auto restart = [&] {
    scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get();
  };
  for (const int order : {1, 2, 3})
    for (const bool cyclic : {false, true}) {
      restart();
      useBSpline<D>(scene, order, cyclic);
      visit(scene, "B-spline of order " + std::to_string(order) + (cyclic ? ", cyclic" : ""));
    }
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    restart();
    scene.useAffine();
    scene.useAsInitial(combination);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    useBSpline<D>(scene, 2, false);
    visit(scene, "quadratic B-spline" + joined + "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    scene.useAffine();
    visit(scene, "affine" + joined + "two B-splines" + joined + "affine");
    restart();
    useBSpline<D>(scene, 3, false);
    scene.useAsInitial(combination);
    scene.useAffine();
    visit(scene, "affine" + joined + "B-spline");
    scene.useAsInitial(Combination::compose);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline after affine" + joined + "B-spline");
  }
}

}
