// needs: Runs
#include "Core/Runs/VolumeChange.h"

#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BendingScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
std::optional<VolumeChange> changeOf(const TermScene<D>& scene, const MaskPointer<D>& mask = nullptr)
{
  return volumeChange<D>(Context{}, allComponents(), *scene.chain, scene.fixed, mask);
}

/// The same by one chain evaluation a voxel.
template <int D>
std::vector<double> determinantsOf(const TermScene<D>& scene, const SampleSet<D>& samples)
{
  const PointList<D> all = allSamples<D>(samples);
  std::vector<double> determinants;
  for (std::size_t i = 0; i < all.positions(); ++i) {
    ListSamples<D> point;
    for (int d = 0; d < D; ++d)
      point.pointMm[d] = &all.mm[d][i];
    point.count = 1;
    Matrix<D> jacobian;
    std::array<double, D * D> entries;
    chainSpatialDerivatives<D>(host, *scene.chain, point, entries.data(), nullptr);
    for (int e = 0; e < D * D; ++e)
      jacobian[e / D][e % D] = entries[e];
    determinants.push_back(determinant(jacobian));
  }
  std::ranges::sort(determinants);
  return determinants;
}

template <int D>
void expectThese(const VolumeChange& found, const std::vector<double>& sorted)
{
  const double perFloat = 1e-5; // determinants of some units, in single precision
  ASSERT_EQ(found.voxels, sorted.size());
  EXPECT_NEAR(found.least, sorted.front(), perFloat);
  EXPECT_NEAR(found.percentile1, sorted[(sorted.size() - 1) / 100], perFloat);
  EXPECT_NEAR(found.median, sorted[(sorted.size() - 1) / 2], perFloat);
  EXPECT_NEAR(found.percentile99, sorted[(sorted.size() - 1) * 99 / 100], perFloat);
  EXPECT_NEAR(found.largest, sorted.back(), perFloat);
  EXPECT_EQ(found.folded, std::ranges::count_if(sorted, [](double d) { return d <= 0; }));
}

TEST(VolumeChangeTest, HasTheDeterminantsOfAllVoxelsOfASmallImage)
{
  TermScene<3> scene(1, {31, 26, 23});
  useBSpline<3>(scene, 3, false, 5);
  expectThese<3>(*changeOf<3>(scene), determinantsOf<3>(scene, scene.lattice(1)));
  scene.useAsInitial(Combination::compose); // point by point
  useBSpline<3>(scene, 3, false, 20);
  const VolumeChange found = *changeOf<3>(scene);
  EXPECT_GT(found.folded, 0u);
  EXPECT_EQ(found.voxelStep, 1u);
  expectThese<3>(found, determinantsOf<3>(scene, scene.lattice(1)));
}

TEST(VolumeChangeTest, LooksInsideTheMaskAlone)
{
  TermScene<2> scene(1, {61, 47});
  useBSpline<2>(scene, 3, false, 5);
  const Vec<2> centerMm = scene.fixed->geometry.centerMm();
  scene.level.fixedMask = std::make_shared<Mask<2>>(
      drawMask<2>(scene.fixed->geometry, [&](const Vec<2>& p) { return p[0] + 0.4 * p[1] > centerMm[0]; }));

  const VolumeChange found = *changeOf<2>(scene, scene.level.fixedMask);

  EXPECT_LT(found.voxels, 61u * 47u * 3 / 4);
  expectThese<2>(found, determinantsOf<2>(scene, scene.lattice(1)));
}

TEST(VolumeChangeTest, TakesStepsInALargeImage)
{
  TermScene<2> scene(1, {1501, 1399});
  useBSpline<2>(scene, 3, false, 5);

  const VolumeChange found = *changeOf<2>(scene);

  VoxelLattice<2> steps = std::get<VoxelLattice<2>>(scene.lattice(found.voxelStep));
  EXPECT_GT(found.voxelStep, 1u);
  EXPECT_LE(found.voxels, 1'000'000u);
  for (int d = 0; d < 2; ++d) // centred
    steps.first[d] = (scene.fixed->geometry.size[d] - 1 - (steps.count[d] - 1) * found.voxelStep) / 2;
  expectThese<2>(found, determinantsOf<2>(scene, steps));
  EXPECT_PRED2(contains, found.text(), std::to_string(found.voxels));
}

TEST(VolumeChangeTest, LinearTransformsHaveNone)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  EXPECT_FALSE(changeOf<2>(scene));
}

TEST(VolumeChangeTest, WarnsOfFoldsAlone)
{
  VolumeChange change;
  const std::string spacing = "FinalGridSpacingInVoxels";
  EXPECT_EQ(change.warning({"AdvancedMeanSquares"}, spacing), "");
  change.folded = 3;
  change.voxels = 50;
  change.voxelStep = 2;
  change.least = -0.5;
  EXPECT_EQ(change.warning({"AdvancedMeanSquares"}, spacing),
            "the transform folds at 3 of 50 voxels of the fixed image (and mask), one of 2 along each axis: "
            "its spatial Jacobian has a determinant of 0 or less there, down to -0.500. Usual remedies: "
            "(Metric \"TransformFoldingPenalty\") beside the image metric, a larger weight of "
            "\"TransformBendingEnergyPenalty\", or a larger (FinalGridSpacingInVoxels).");
  EXPECT_PRED2(contains, change.warning({"AdvancedMeanSquares", "TransformFoldingPenalty"}, spacing),
               "Usual remedies: a larger weight of \"TransformFoldingPenalty\", a smaller "
               "(FoldingSampleGridSpacing), ");
}

}
}
