#pragma once

// Transforms that have more than parameters, splines of landmarks, images of displacements and combinations,
// in a term's scene.

#include "Testing/Support/Scenes/BendingScenes.h"
#include "Testing/Support/Scenes/ModelTransforms.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

template <int D>
void useSpline(TermScene<D>& scene, const std::string& type, std::size_t landmarks = 13,
               double largestMm = 1.5)
{
  const TransformChain<D> spline =
      splineOf<D>(type, scatteredLandmarks<D>(scene.fixed->geometry, landmarks, largestMm));
  scene.chain->transform = spline.transform;
  scene.chain->parameters = spline.parameters;
}

/// Random displacements on a turned grid that covers most of the fixed image. Order 1 jumps nowhere but at
/// the field's border.
template <int D>
void useField(TermScene<D>& scene, int order)
{
  const ImageGeometry<D>& fixed = scene.fixed->geometry;
  ImageGeometry<D> grid;
  grid.size.fill(7);
  grid.size[0] = 9;
  grid.direction[0][0] = grid.direction[1][1] = 0.8;
  grid.direction[0][1] = -0.6;
  grid.direction[1][0] = 0.6;
  grid.spacingMm.fill(0.14 * static_cast<double>(fixed.size[0]) * fixed.spacingMm[0]);
  const TransformChain<D> field = randomField<D>(grid, fixed.centerMm(), order);
  scene.chain->transform = field.transform;
  scene.chain->parameters = field.parameters;
}

/// A combination of an affine transform, a spline and a B-spline after an affine transform, again and again.
template <int D>
void useCombination(TermScene<D>& scene, bool normalizes, std::size_t count = 3)
{
  const auto last = std::exchange(scene.chain, std::make_shared<TransformChain<D>>());
  std::vector<TransformChain<D>> three;
  scene.useAffine();
  three.push_back(*scene.chain);
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  three.push_back(*scene.chain);
  scene.chain = std::make_shared<TransformChain<D>>();
  useSpline<D>(scene, splineTypes.front());
  three.push_back(*scene.chain);
  scene.level.chain = (scene.chain = last).get();
  std::vector<TransformChain<D>> chains;
  for (std::size_t i = 0; i < count; ++i)
    chains.push_back(three[i % three.size()]);
  const double most = 2 / static_cast<double>(count);
  const TransformChain<D> combination =
      combinationOf<D>(chains, checks::randomVector(count, 71, 0.1 * most, most), normalizes);
  last->transform = combination.transform;
  last->parameters = combination.parameters;
}

/// Visits splines of every kernel, alone and before a B-spline, splines and fields in chains of three, in all
/// ways to join them; the last transform has parameters to find. Jumps of fields of order 0 have no
/// derivatives: `withJumps` visits those too.
template <int D, class Visit>
void forEachModelScene(bool withJumps, Visit&& visit)
{
  TermScene<D> scene(1, unequalSize<D>());
  const auto restart = [&] {
    scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get();
  };
  const std::size_t kernels = D == 2 ? 1 : splineTypes.size();
  for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
    restart();
    useSpline<D>(scene, splineTypes[kernel]);
    visit(scene, splineTypes[kernel]);
    scene.useAsInitial(Combination::compose);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline after " + splineTypes[kernel]);
  }
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    for (const int order : {0, 1}) {
      if (order == 0 && !withJumps)
        continue;
      restart();
      useField<D>(scene, order);
      scene.useAsInitial(combination);
      useBSpline<D>(scene, 2, false);
      visit(scene, "B-spline" + joined + "field of order " + std::to_string(order));
    }
    restart();
    scene.useAffine();
    scene.useAsInitial(combination);
    useField<D>(scene, 1);
    scene.useAsInitial(combination);
    useSpline<D>(scene, "ElasticBodySpline", 29); // with the affine part 33 rows in 3D
    visit(scene, "spline" + joined + "field" + joined + "affine");
    restart();
    useBSpline<D>(scene, 3, false);
    scene.useAsInitial(combination);
    useSpline<D>(scene, "ThinPlateSpline");
    scene.useAsInitial(combination);
    scene.useAffine();
    visit(scene, "affine" + joined + "spline" + joined + "B-spline");
    restart();
    useSpline<D>(scene, "VolumeSpline", D + 1);
    scene.useAsInitial(combination);
    useField<D>(scene, 1);
    scene.useAsInitial(combination == Combination::add ? Combination::compose : Combination::add);
    useBSpline<D>(scene, 3, false);
    visit(scene, "B-spline joined the other way to field" + joined + "spline");
  }
}

}
