#pragma once

// Chains of stacks for tests on CUDA.

#include "Components/Transforms/AffineLogStackTransform.h"
#include "Components/Transforms/EulerStackTransform.h"
#include "Components/Transforms/TranslationStackTransform.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera::testing {

/// Visits each kind of stack alone, and B-splines and Euler transforms after a stack and added to it. Splines
/// of order `order` interpolate.
template <int D, class Visit>
void forEachStackScene(int order, const Visit& visit)
{
  const auto parameters = parametersOf("(FinalGridSpacingInPhysicalUnits 12)", D, 1, "Transform0");
  SeriesSceneOf<D> scene(order);
  visit(scene, "B-splines");
  scene.use(std::make_shared<TranslationStackTransform<D>>(parameters), 1.5);
  visit(scene, "translations");
  scene.use(std::make_shared<AffineLogStackTransform<D>>(parameters), 0.02);
  visit(scene, "affine transforms");
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    SeriesSceneOf<D> chained(order);
    chained.use(std::make_shared<EulerStackTransform<D>>(parameters), 0.02);
    chained.useAsInitial(combination);
    chained.use(std::make_shared<BSplineStackTransform<D>>(
                    parametersOf("(FinalGridSpacingInPhysicalUnits 9)\n(BSplineTransformSplineOrder 2)", D)),
                1);
    visit(chained, "B-splines" + joined + "Euler transforms");
    chained.useAsInitial(combination);
    chained.use(std::make_shared<EulerStackTransform<D>>(parameters), 0.02);
    visit(chained, "Euler transforms" + joined + "these");
  }
}

}
