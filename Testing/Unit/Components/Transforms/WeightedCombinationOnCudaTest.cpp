// needs: GPU
#include "Components/Transforms/Shared/OnCuda/CombinationPasses.h"

#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/SelfSimilarity.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/PassesOnGpu.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"
#include "Testing/Support/Scenes/StageRuns.h"

namespace tessera {
namespace {

using namespace testing;

Context cuda()
{
  return makeContext({DeviceKind::cuda, 0}, 1);
}

/// Combinations alone, and composed with and added to an affine transform and a field.
template <int D, class Visit>
void forEachCombination(Visit&& visit)
{
  for (const std::size_t transforms : {1, 3, 20})
    for (const bool normalizes : {false, true}) {
      const std::string what = std::to_string(D) + "D combination of " + std::to_string(transforms)
                               + (normalizes ? ", normalized" : "");
      TermScene<D> alone(1, unequalSize<D>());
      useCombination<D>(alone, normalizes, transforms);
      visit(alone, what);
      for (const Combination combination : {Combination::compose, Combination::add}) {
        TermScene<D> scene(normalizes ? 3 : 1, unequalSize<D>());
        scene.useAffine();
        scene.useAsInitial(combination);
        useField<D>(scene, 1);
        scene.useAsInitial(combination);
        useCombination<D>(scene, normalizes, transforms);
        visit(scene, what + (combination == Combination::add ? ", added" : ", composed"));
      }
    }
}

template <int D>
void expectTheCpusPasses(const TermScene<D>& scene, const SampleSet<D>& set, const std::string& what)
{
  // Along a row of voxels the CPU puts polynomials in the place of far landmarks, which leave some 1e-8 mm
  // for a weight of 1 (SplineEvaluation.cpp).
  constexpr double ofRowsMm = 1e-7;
  testing::expectTheCpusPasses<D>(*scene.chain, scene.fixed, set, what, ofRowsMm);
}

template <int D>
void expectTheCpusPassesOfSets(const TermScene<D>& scene, const std::string& what)
{
  expectTheCpusPasses<D>(scene, scene.points(1), what + ", one point");
  expectTheCpusPasses<D>(scene, scene.points(2049, -0.1), what + ", points");
  expectTheCpusPasses<D>(scene, scene.lattice(1), what + ", every voxel");
  expectTheCpusPasses<D>(scene, scene.lattice(3), what + ", every third voxel");
}

using WeightedCombinationOnCudaTest = testing::GpuTest;

TEST_F(WeightedCombinationOnCudaTest, DisplacementsAndGradientsAreTheCpus)
{
  forEachCombination<2>(expectTheCpusPassesOfSets<2>);
  forEachCombination<3>(expectTheCpusPassesOfSets<3>);
}

TEST_F(WeightedCombinationOnCudaTest, GradientsOfManySamplesGoInChunks)
{
  TermScene<2> scene(1, {41, 36});
  useCombination<2>(scene, true);
  expectTheCpusPasses<2>(scene, scene.points((std::size_t(1) << 20) + 4097, -0.1), "two chunks");
}

template <int D>
TermEvaluation evaluateOn(Context context, CostTerm<D>& term, TermScene<D>& scene, const SampleSet<D>& set)
{
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  return evaluateTerm<D>(context, term, scene, set, true);
}

/// Intensities are floats on both devices.
template <int D>
void expectTheCpusTerm(CostTerm<D>& term, TermScene<D>& scene, const std::string& what)
{
  scene.level.registry = &allComponents();
  for (const SampleSet<D>& set : {scene.points(2500, 0), scene.lattice(1), scene.lattice(3)}) {
    const TermEvaluation cpu = evaluateOn<D>(Context{}, term, scene, set),
                         found = evaluateOn<D>(cuda(), term, scene, set);
    EXPECT_EQ(found.term.asked, cpu.term.asked) << what;
    EXPECT_NEAR(static_cast<double>(found.term.valid), static_cast<double>(cpu.term.valid),
                1e-3 * static_cast<double>(cpu.term.valid))
        << what;
    EXPECT_NEAR(found.term.value, cpu.term.value, 1e-4 * std::abs(cpu.term.value)) << what;
    EXPECT_LE(largestDifference(found.gradient, cpu.gradient), 2e-3 * largestMagnitude(cpu.gradient)) << what;
    const TermEvaluation again = evaluateOn<D>(cuda(), term, scene, set);
    EXPECT_EQ(again.gradient, found.gradient) << what << ": not the same bits again";
    EXPECT_EQ(again.term.value, found.term.value) << what << ": not the same bits again";
  }
}

template <int D>
void expectTheCpusMeanSquares(TermScene<D>& scene, const std::string& what)
{
  const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0");
  ImageTerm<D> term(parameters, std::make_unique<MetricOf<AdvancedMeanSquares>>(parameters));
  expectTheCpusTerm<D>(term, scene, what);
}

TEST_F(WeightedCombinationOnCudaTest, MeanSquaresAreTheCpus)
{
  forEachCombination<2>(expectTheCpusMeanSquares<2>);
  forEachCombination<3>(expectTheCpusMeanSquares<3>);
}

TEST_F(WeightedCombinationOnCudaTest, MeanSquaresInMasksAndSelfSimilaritiesAreTheCpus)
{
  TermScene<3> scene(1, {27, 20, 18});
  useMasksOfABall(scene);
  useCombination<3>(scene, true);
  expectTheCpusMeanSquares<3>(scene, "in masks");

  TermScene<3> other(1, {27, 20, 18});
  useCombination<3>(other, false);
  SelfSimilarity<3> similarity(parametersOf("(RequiredRatioOfValidSamples 0.05)", 3, 1, "Metric0"));
  expectTheCpusTerm<3>(similarity, other, "self-similarity");
}

std::string whyNot(const std::string& lines)
{
  const TemporaryFolder folder;
  folder.write("shift.txt", "(Transform \"TranslationTransform\")\n(TransformParameters 1 2)\n");
  folder.write("inner.txt", "(Transform \"WeightedCombinationTransform\")\n(TransformParameters 1)\n"
                            "(SubTransforms \"shift.txt\")\n");
  std::string text = lines;
  for (std::size_t at = 0; (at = text.find("FOLDER", at)) != std::string::npos;)
    text.replace(at, 6, folder / "");
  const DrawnStage<2> input = stageInput<2>({40, 30}, text);
  return whyStageNotOnCuda<2>(input.prepared(), nullptr);
}

TEST(WeightedCombinationWithoutAGpuTest, RefusesWhatOtherKernelsWouldHaveToEvaluate)
{
  const std::string combination = "(Transform \"WeightedCombinationTransform\") ";
  EXPECT_EQ(whyNot(combination + "(SubTransforms \"FOLDERshift.txt\")"), "");
  EXPECT_EQ(whyNot(combination + "(SubTransforms \"FOLDERinner.txt\")"),
            "the transform \"WeightedCombinationTransform\" has no CUDA form");
  EXPECT_EQ(whyNot(combination
                   + "(SubTransforms \"FOLDERshift.txt\") (Registration "
                     "\"MultiMetricMultiResolutionRegistration\") (Metric \"AdvancedMeanSquares\" "
                     "\"TransformBendingEnergyPenalty\")"),
            "the metric \"TransformBendingEnergyPenalty\" with the transform "
            "\"WeightedCombinationTransform\" has no CUDA form");
}

TEST_F(WeightedCombinationOnCudaTest, WeightsThatSumToZeroAreTold)
{
  TermScene<2> scene(1, {41, 36});
  useCombination<2>(scene, true);
  scene.chain->parameters = {1, -0.25, -0.75};
  EXPECT_PRED2(contains,
               errorText([&] { passesOf<2>(*scene.chain, scene.fixed, scene.points(10)); },
                         ExitCode::registrationFailed),
               "sum of the weights");
}

}
}
