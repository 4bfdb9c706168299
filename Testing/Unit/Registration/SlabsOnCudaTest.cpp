// needs: GPU
#include "Core/Registration/Terms/ImageTermOnCuda.h"

#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/RobustNormalizedCorrelation.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"
#include "Testing/Support/Scenes/StageRuns.h"

namespace tessera {
namespace {

using namespace testing;

struct Evaluation : TermEvaluation {
  std::vector<std::string> phases;
};

template <class Formula>
Evaluation evaluateInSlabs(TermScene<3>& scene, const SampleSet<3>& samples, std::size_t slabs)
{
  Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", 3, 1, "Metric0");
  ImageTerm<3> term(parameters, makeMetric<Formula>(parameters));
  scene.level.registry = &allComponents();
  scene.level.slabs = slabs;
  scene.interpolator->prepareForLevel(cuda, scene.moving, 0);
  term.prepareForLevel(cuda, scene.level);
  const Context vectors = vectorContext<3>(cuda, *scene.chain->transform);
  Buffer<double> position, gradient(vectors, scene.chain->parameters.size());
  position.fromHost(vectors, scene.chain->parameters);
  const auto evaluate = [&](std::span<double> wanted) {
    return term.evaluate(cuda, samples, std::as_const(position).span(), wanted);
  };
  const TermValue valueAlone = evaluate({}), value = evaluate(gradient.span());
  EXPECT_EQ(valueAlone.value, value.value) << slabs << " slabs";
  Evaluation result{{value, gradient.toHost(vectors)}, {}};
  EXPECT_EQ(evaluate(gradient.span()).value, value.value) << slabs << " slabs";
  EXPECT_EQ(gradient.toHost(vectors), result.gradient) << slabs << " slabs: not the same bits again";
  for (const Phase& phase : term.timePhases(cuda, samples, std::as_const(position).span(), gradient.span()))
    result.phases.push_back(phase.name);
  return result;
}

/// Sums of floats and of fixed point in other portions: some 1e-6 of their size.
template <class Formula>
void expectAsWhole(TermScene<3>& scene, const SampleSet<3>& samples, const std::string& what)
{
  const Evaluation whole = evaluateInSlabs<Formula>(scene, samples, 1);
  for (const std::size_t slabs : {2, 3, 7, 1000}) {
    const Evaluation cut = evaluateInSlabs<Formula>(scene, samples, slabs);
    const std::string of = what + ", " + std::to_string(slabs) + " slabs";
    EXPECT_EQ(cut.term.asked, whole.term.asked) << of;
    EXPECT_EQ(cut.term.valid, whole.term.valid) << of;
    EXPECT_NEAR(cut.term.value, whole.term.value, 1e-6 * std::abs(whole.term.value)) << of;
    EXPECT_LE(checks::norm(checks::moved(cut.gradient, -1, whole.gradient)),
              1e-5 * checks::norm(whole.gradient))
        << of;
    EXPECT_EQ(cut.phases, whole.phases) << of << ": each part is reported once";
  }
}

template <class Formula>
class SlabsOnCuda : public GpuTest {
};
using Formulas = ::testing::Types<AdvancedNormalizedCorrelation, NormalizedMutualInformation,
                                  LocalNormalizedCorrelation, RobustNormalizedCorrelation>;
TYPED_TEST_SUITE(SlabsOnCuda, Formulas);

TYPED_TEST(SlabsOnCuda, OfAlignedBSplinesAreTheWhole)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.useBSpline();
  expectAsWhole<TypeParam>(scene, scene.lattice(1), "B-spline");
  TermScene<3> after(1, {27, 20, 18});
  after.useAffine();
  after.useAsInitial(Combination::add);
  after.useBSpline();
  expectAsWhole<TypeParam>(after, after.lattice(1), "B-spline added to affine");
}

TYPED_TEST(SlabsOnCuda, OfOtherLatticesAreTheWhole)
{
  for (const int order : {1, 3}) {
    TermScene<3> scene(order, {27, 20, 18});
    scene.useBSpline();
    expectAsWhole<TypeParam>(scene, scene.lattice(2), "B-spline, every second voxel");
    scene.useAffine();
    expectAsWhole<TypeParam>(scene, scene.lattice(1), "affine");
    expectAsWhole<TypeParam>(scene, scene.lattice(3), "affine, every third voxel");
    useCombination<3>(scene, true);
    expectAsWhole<TypeParam>(scene, scene.lattice(1), "combination");
  }
}

TYPED_TEST(SlabsOnCuda, InMasksAreTheWhole)
{
  forEachMaskedScene(1, [](TermScene<3>& scene, const std::string& what) {
    expectAsWhole<TypeParam>(scene, scene.lattice(1), what);
  });
}

}
}
