// needs: GPU
#include "Components/Metrics/TransformFoldingPenalty.h"

#include "Testing/Support/OnGpu/TermsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

/// The CPU's results on all voxels, where both devices go axis by axis.
template <int D>
void expectTheCpusLattice(const TermScene<D>& scene, const std::string& what)
{
  SCOPED_TRACE(what);
  EXPECT_TRUE(foldingLattice<D>(std::get<VoxelLattice<D>>(scene.lattice(1)), scene.level));
  const auto evaluateOn = [&](const Context& context, bool withGradient) {
    TransformFoldingPenalty<D> term(parametersOf("(FoldingSampleGridSpacing 1)", D, 1, "Metric0"));
    return evaluateTerm<D>(context, term, scene, scene.lattice(1), withGradient);
  };
  expectTheCpusResults(evaluateOn, {1e-9, 1e-9});
}

template <int D>
void useMask(TermScene<D>& scene)
{
  const Vec<D> centerMm = scene.fixed->geometry.centerMm();
  scene.level.fixedMask = std::make_shared<Mask<D>>(drawMask<D>(scene.fixed->geometry, [&](const Vec<D>& p) {
    return std::fmod(std::abs(p[0] + 2 * p[1]), 11) < 5 && p[D - 1] > centerMm[D - 1] - 8;
  }));
}

template <int D>
void expectTheCpusResultsInAllChains(const Size<D>& size)
{
  for (const bool masked : {false, true}) {
    const std::string more = masked ? ", masked" : "";
    TermScene<D> scene(1, size);
    if (masked)
      useMask<D>(scene);
    useBSpline<D>(scene, 3, false, 8); // with folds
    expectTheCpusLattice<D>(scene, "B-spline" + more);
    scene.useAsInitial(Combination::add);
    useBSpline<D>(scene, 3, false);
    expectTheCpusLattice<D>(scene, "B-spline added to a B-spline" + more);
    scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get();
    scene.useAffine();
    scene.useAsInitial(Combination::add);
    useBSpline<D>(scene, 3, false);
    expectTheCpusLattice<D>(scene, "B-spline added to an affine transform" + more);
  }
}

using TransformFoldingPenaltyOnCudaTest = testing::GpuTest;

TEST_F(TransformFoldingPenaltyOnCudaTest, AgreesWithTheCpuOnLattices)
{
  expectTheCpusResultsInAllChains<2>({41, 36});
  expectTheCpusResultsInAllChains<2>({700, 130}); // rows of several segments
  expectTheCpusResultsInAllChains<3>({27, 22, 17});
  expectTheCpusResultsInAllChains<3>({270, 22, 17});
}

TEST_F(TransformFoldingPenaltyOnCudaTest, AgreesWithTheCpuInSeveralChunksOfSlices)
{
  expectTheCpusResultsInAllChains<3>({40, 90, 700}); // 57 kB a slice
}

}
}
