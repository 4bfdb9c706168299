#pragma once

#include "Testing/Support/Scenes/BSplineChains.h"
#include "Testing/Support/Scenes/ModelScenes.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

namespace tessera::testing {

/// A field of displacements so small that it does not fold, and chains with it.
template <int D, class Visit>
void forEachGentleField(const ImageGeometry<D>& image, Visit&& visit)
{
  ImageGeometry<D> grid = image;
  for (int d = 0; d < D; ++d) {
    grid.size[d] = (image.size[d] + 3) / 4 + 2;
    grid.spacingMm[d] *= 4;
  }
  const TransformChain<D> field = randomField<D>(grid, image.centerMm(), 1, 0.2 * image.spacingMm[0]);
  visit(field, "field");
  const auto affine =
      std::make_shared<TransformChain<D>>(letterChain<D>("A", std::make_shared<Image<D>>(image)));
  for (const Combination combination : {Combination::compose, Combination::add})
    visit({affine, combination, field.transform, field.parameters},
          combination == Combination::add ? "field added to affine" : "field after affine");
}

/// A B-spline of control points 6 mm apart after an affine transform, on an image of voxels of 1 mm; random
/// coefficients of at most `largestMm`.
template <int D>
struct FoldingScene {
  ImageGeometry<D> image;
  std::shared_ptr<TransformChain<D>> chain;

  explicit FoldingScene(double largestMm)
  {
    image.size.fill(D == 2 ? 150 : 48);
    image.spacingMm.fill(1);
    const auto affine =
        std::make_shared<TransformChain<D>>(letterChain<D>("A", std::make_shared<Image<D>>(image)));
    Vec<D> spacingVoxels;
    spacingVoxels.fill(6);
    chain = std::make_shared<TransformChain<D>>(
        randomBSplineChain<D>(gridAcross<D>(image, spacingVoxels, 3), largestMm));
    chain->initial = affine;
  }
};

/// Visits chains of every kind of transform that are not linear, each with a grid on which it can be
/// inverted: those of the penalties, fields that do not fold, and B-splines that fold and jump.
template <int D, class Visit>
void forEachChainToInvert(Visit&& visit)
{
  const auto ofTerm = [&](const TermScene<D>& scene, const std::string& what) {
    if (!isLinearChain<D>(scene.chain.get()))
      visit(std::make_shared<TransformChain<D>>(*scene.chain), scene.fixed->geometry, what);
  };
  forEachBendingScene<D>(ofTerm);
  forEachModelScene<D>(false, ofTerm);
  const ImageGeometry<D> image = obliqueGeometry<D>(unequalSize<D>());
  forEachGentleField<D>(image, [&](const TransformChain<D>& chain, const std::string& what) {
    visit(std::make_shared<TransformChain<D>>(chain), image, what);
  });
  const FoldingScene<D> folding(10);
  visit(folding.chain, folding.image, "B-spline that folds after affine");
}

}
