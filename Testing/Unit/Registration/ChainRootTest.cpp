#include "Components/Transforms/Shared/OnCuda/ChainRoot.h"

#include "Components/Transforms/Shared/OnCuda/SplineMap.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Testing/Support/Scenes/ChainOnHost.h"
#include "Testing/Support/Scenes/InverseScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// The root as kernels find it, with the numbers of the chain on the host.
template <int D>
Root<D> rootByItems(const ChainOnCuda<D>& chain, const ChainInverse<D>& inverse, const Vec<D>& pointMm)
{
  const RootRules<D>& rules = inverse.rules();
  const Vec<D> startMm = rules.linearInverse(pointMm);
  bool isBroken = false;
  Root<D> best = rootBy<D>(ChainMap<D>{chain}, rules, pointMm, startMm, isBroken);
  if (best.kind != RootKind::regular)
    for (const Vec<D>& fromMm : inverse.cells(host).candidatesMm(pointMm)) {
      const Root<D> found = rootBy<D>(ChainMap<D>{chain}, rules, pointMm, fromMm, isBroken);
      if (isBetterRoot<D>(found, best, startMm))
        best = found;
    }
  EXPECT_FALSE(isBroken);
  return best;
}

/// It takes long, so one of nine batches stands for all.
bool isLeftOut(std::size_t firstVoxel)
{
  return firstVoxel / batchCapacity % 9 != 0;
}

/// T and its derivatives have other roundings there, which can decide otherwise about a step only where a
/// residual is as large as the tolerance, or where T folds.
template <int D>
void expectTheTransformsRoots(const ChainPointer<D>& chain, const ImageGeometry<D>& image,
                              const std::string& what)
{
  constexpr double toleranceMm = 1e-3;
  const InverseTransform<D> inverse(chain, image, toleranceMm);
  const ChainOnHost<D> onHost(chain);
  std::size_t points = 0, others = 0;
  forEachVoxelBatch<D>(host, image, [&](std::size_t first, PointBatch<D>& batch) {
    if (isLeftOut(first))
      return;
    PointBatch<D> mapped;
    mapped.count = batch.count;
    inverse.map(host, batch.list(), {}, mapped.out());
    for (std::size_t i = 0; i < batch.count; ++i) {
      const Root<D> root = rootByItems<D>(onHost.chain, inverse.roots(), batch.list().point(i));
      Vec<D> difference;
      for (int d = 0; d < D; ++d)
        difference[d] = root.pointMm[d] - mapped.mm[d][i];
      const double mm = lengthOf<D>(difference);
      ++points;
      if (std::isnan(mapped.mm[0][i]) && std::isnan(root.pointMm[0]))
        continue;
      others += !(mm < 1e-7);
    }
  });
  EXPECT_GT(points, 100u) << what;
  EXPECT_LE(others, points / 1000) << what;
}

TEST(ChainRootTest, IsTheRootOfTheTransform)
{
  forEachChainToInvert<2>(expectTheTransformsRoots<2>);
  forEachChainToInvert<3>(expectTheTransformsRoots<3>);
}

/// Roots by a SplineMap, which is in single precision, differ from those in double precision by its error; by
/// up to twice the tolerance where that decides otherwise about the last step.
template <int D>
void expectTheRootsOfDoublePrecision(const ChainPointer<D>& chain, const ImageGeometry<D>& image,
                                     const std::string& what, std::size_t& chains)
{
  constexpr double toleranceMm = 1e-3;
  std::optional<SplineMapOfChain<D>> spline = asSplineMap<D>(*chain);
  if (!spline)
    return;
  ++chains;
  spline->map.coefficients = spline->coefficientsMm.data();
  const InverseTransform<D> inverse(chain, image, toleranceMm);
  const ChainOnHost<D> onHost(chain);
  const RootRules<D>& rules = inverse.roots().rules();
  std::size_t roots = 0, others = 0;
  double largestMm = 0;
  forEachVoxelBatch<D>(Context{}, image, [&](std::size_t first, PointBatch<D>& batch) {
    if (isLeftOut(first))
      return;
    for (std::size_t i = 0; i < batch.count; ++i) {
      const Vec<D> pointMm = batch.list().point(i), startMm = rules.linearInverse(pointMm);
      Vec<D> expectedMm, imageMm;
      const Matrix<D> expected = ChainMap<D>{onHost.chain}(startMm, expectedMm),
                      jacobian = spline->map(startMm, imageMm);
      for (int k = 0; k < D; ++k) {
        EXPECT_NEAR(imageMm[k], expectedMm[k], spline->errorMm) << what;
        for (int j = 0; j < D; ++j)
          EXPECT_NEAR(jacobian[k][j], expected[k][j], 1e-5) << what;
      }
      bool isBroken = false;
      const Root<D> exact = rootBy<D>(ChainMap<D>{onHost.chain}, rules, pointMm, startMm, isBroken),
                    root = rootBy<D>(spline->map, rules, pointMm, startMm, isBroken);
      if (exact.kind != RootKind::regular || root.kind != RootKind::regular)
        continue;
      ++roots;
      Vec<D> difference;
      for (int d = 0; d < D; ++d)
        difference[d] = root.pointMm[d] - exact.pointMm[d];
      others += lengthOf<D>(difference) > 2e-5;
      ChainMap<D>{onHost.chain}(root.pointMm, imageMm);
      for (int d = 0; d < D; ++d)
        difference[d] = imageMm[d] - pointMm[d];
      largestMm = std::max(largestMm, lengthOf<D>(difference));
    }
  });
  EXPECT_GT(roots, image.voxelCount() / 20) << what;
  EXPECT_LE(others, roots / 500) << what;
  EXPECT_LE(largestMm, toleranceMm + spline->errorMm) << what;
}

TEST(ChainRootTest, SinglePrecisionOfABSplineIsEnough)
{
  std::size_t chains = 0;
  forEachChainToInvert<2>([&](const auto& chain, const auto& image, const std::string& what) {
    expectTheRootsOfDoublePrecision<2>(chain, image, what, chains);
  });
  forEachChainToInvert<3>([&](const auto& chain, const auto& image, const std::string& what) {
    expectTheRootsOfDoublePrecision<3>(chain, image, what, chains);
  });
  EXPECT_GE(chains, 6u);
}

TEST(ChainRootTest, TellsWhereTheChainIsNoNumber)
{
  ImageGeometry<2> image = obliqueGeometry<2>(unequalSize<2>());
  auto spline = std::make_shared<TransformChain<2>>(
      randomBSplineChain<2>(gridAcross<2>(image, image.spacingMm, 3), 0.1));
  std::ranges::fill(spline->parameters, std::numeric_limits<double>::quiet_NaN());
  const ChainOnHost<2> onHost(spline);
  const RootRules<2> rules{{}, 1, 1e-3};
  bool isBroken = false;

  rootBy<2>(ChainMap<2>{onHost.chain}, rules, image.centerMm(), image.centerMm(), isBroken);

  EXPECT_TRUE(isBroken);
}

}
}
