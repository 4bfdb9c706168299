// needs: GPU
#include "Components/Metrics/TransformFoldingPenalty.h"

#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BendingScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
TermEvaluation evaluateOn(Context context, const TermScene<D>& scene, bool withGradient = true)
{
  TransformFoldingPenalty<D> term(parametersOf("(FoldingSampleGridSpacing 1)", D, 1, "Metric0"));
  return evaluateTerm<D>(context, term, scene, scene.lattice(1), withGradient);
}

/// The CPU's results on all voxels, where both devices go axis by axis; the same bits again, and without a
/// gradient.
template <int D>
void expectTheCpusResults(const TermScene<D>& scene, const std::string& what)
{
  SCOPED_TRACE(what);
  EXPECT_TRUE(foldingLattice<D>(std::get<VoxelLattice<D>>(scene.lattice(1)), scene.level));
  const Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  const TermEvaluation cpu = evaluateOn<D>(Context{}, scene), cuda = evaluateOn<D>(onCuda, scene),
                       again = evaluateOn<D>(onCuda, scene);

  EXPECT_GT(cpu.term.valid, 0u);
  EXPECT_EQ(cuda.term.asked, cpu.term.asked);
  EXPECT_EQ(cuda.term.valid, cpu.term.valid);
  EXPECT_NEAR(cuda.term.value, cpu.term.value, 1e-9 * cpu.term.value);
  const double largest = std::abs(std::ranges::max(cpu.gradient, {}, [](double g) { return std::abs(g); }));
  ASSERT_EQ(cuda.gradient.size(), cpu.gradient.size());
  for (std::size_t i = 0; i < cpu.gradient.size(); ++i)
    ASSERT_NEAR(cuda.gradient[i], cpu.gradient[i], 1e-9 * largest) << i;
  EXPECT_EQ(again.gradient, cuda.gradient);
  EXPECT_EQ(again.term.value, cuda.term.value);
  EXPECT_EQ(evaluateOn<D>(onCuda, scene, false).term.value, cuda.term.value);
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
    expectTheCpusResults<D>(scene, "B-spline" + more);
    scene.useAsInitial(Combination::add);
    useBSpline<D>(scene, 3, false);
    expectTheCpusResults<D>(scene, "B-spline added to a B-spline" + more);
    scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get();
    scene.useAffine();
    scene.useAsInitial(Combination::add);
    useBSpline<D>(scene, 3, false);
    expectTheCpusResults<D>(scene, "B-spline added to an affine transform" + more);
  }
}

TEST(TransformFoldingPenaltyOnCudaTest, AgreesWithTheCpuOnLattices)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusResultsInAllChains<2>({41, 36});
  expectTheCpusResultsInAllChains<2>({700, 130}); // rows of several segments
  expectTheCpusResultsInAllChains<3>({27, 22, 17});
  expectTheCpusResultsInAllChains<3>({270, 22, 17});
}

TEST(TransformFoldingPenaltyOnCudaTest, AgreesWithTheCpuInSeveralChunksOfSlices)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusResultsInAllChains<3>({40, 90, 700}); // 57 kB a slice
}

}
}
