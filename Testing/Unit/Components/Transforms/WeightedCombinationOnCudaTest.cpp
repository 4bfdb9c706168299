// needs: GPU
#include "Components/Transforms/Shared/OnCuda/CombinationPasses.h"

#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/SelfSimilarity.h"
#include "Core/Registration/Samples/SamplesForCuda.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
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

struct PassResults {
  std::vector<float> field;     // T(x) - x, D planar arrays
  std::vector<double> gradient; // J^T v for covectors of random numbers
  std::size_t samples = 0;
};

std::vector<float> covectorsOf(std::size_t numbers)
{
  const std::vector<double> values = checks::randomVector(numbers, 81);
  return {values.begin(), values.end()};
}

template <int D>
PassResults passesOf(const TermScene<D>& scene, const SampleSet<D>& set)
{
  Context context = cuda();
  const auto passes = passesOnCuda<D>(context, *scene.chain);
  SamplesForCuda<D> forCuda(context, scene.fixed);
  const SamplesOnCuda<D> samples = forCuda.of(context, set);
  Buffer<double> weights, gradient;
  weights.fromHost(context, scene.chain->parameters);
  gradient.fromHost(context, std::vector<double>(scene.chain->parameters.size(), 0.25));
  Buffer<float> field, covectors;
  field.fromHost(context, std::vector<float>(D * samples.count));
  covectors.fromHost(context, covectorsOf(D * samples.count));
  std::array<float*, D> fieldArrays;
  std::array<const float*, D> covectorArrays;
  for (int d = 0; d < D; ++d) {
    fieldArrays[d] = field.span().data() + d * samples.count;
    covectorArrays[d] = std::as_const(covectors).span().data() + d * samples.count;
  }
  passes->moveTo(context, std::as_const(weights).span());
  passes->addDisplacements(context, samples, fieldArrays);
  passes->pullBack(context, samples, covectorArrays, nullptr, gradient.span(), {true});
  return {field.toHost(context), gradient.toHost(context), samples.count};
}

/// In batches of points, as the CPU's terms go.
template <int D>
PassResults onCpu(const TermScene<D>& scene, const PointList<D>& points)
{
  PassResults result;
  result.samples = points.positions();
  result.field.resize(D * result.samples);
  result.gradient.resize(scene.chain->parameters.size());
  const std::vector<float> covectors = covectorsOf(D * result.samples);
  for (std::size_t first = 0; first < result.samples; first += batchCapacity) {
    ListSamples<D> batch;
    batch.count = std::min(batchCapacity, result.samples - first);
    checks::Points<D> mapped(batch.count), at(batch.count);
    PointBatch<D> values;
    Covectors<D> v;
    for (int d = 0; d < D; ++d) {
      batch.pointMm[d] = points.mm[d].data() + first;
      for (std::size_t i = 0; i < batch.count; ++i)
        values.mm[d][i] = covectors[d * result.samples + first + i];
      v[d] = values.mm[d].data();
    }
    mapChain<D>(host, *scene.chain, batch, mapped.out());
    mapInitial<D>(host, *scene.chain, batch, at.out());
    optimizable<D>(*scene.chain->transform)
        .pullBack(host, Samples<D>(at.list()), scene.chain->parameters, v, result.gradient);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < batch.count; ++i)
        result.field[d * result.samples + first + i] =
            static_cast<float>(mapped.mm[d][i] - batch.pointMm[d][i]);
  }
  return result;
}

template <int D>
void expectTheCpusPasses(const TermScene<D>& scene, const SampleSet<D>& set, const std::string& what)
{
  const PassResults expected = onCpu<D>(scene, allSamples<D>(set)), found = passesOf<D>(scene, set);
  ASSERT_EQ(found.samples, expected.samples) << what;
  for (std::size_t i = 0; i < expected.field.size(); ++i)
    ASSERT_NEAR(found.field[i], expected.field[i], 1e-5) << what << ", displacement " << i;
  const double norm = std::sqrt(
      std::inner_product(expected.gradient.begin(), expected.gradient.end(), expected.gradient.begin(), 0.0));
  for (std::size_t i = 0; i < expected.gradient.size(); ++i)
    ASSERT_NEAR(found.gradient[i], expected.gradient[i], 1e-9 * norm + 1e-7) << what << ", weight " << i;
  const PassResults again = passesOf<D>(scene, set);
  EXPECT_EQ(again.field, found.field) << what << ": not the same bits again";
  EXPECT_EQ(again.gradient, found.gradient) << what << ": not the same bits again";
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
    double norm = 0;
    for (const double value : cpu.gradient)
      norm = std::max(norm, std::abs(value));
    for (std::size_t i = 0; i < cpu.gradient.size(); ++i)
      EXPECT_NEAR(found.gradient[i], cpu.gradient[i], 2e-3 * norm) << what << ", weight " << i;
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
               errorText([&] { passesOf<2>(scene, scene.points(10)); }, ExitCode::registrationFailed),
               "sum of the weights");
}

}
}
