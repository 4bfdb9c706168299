#include "Core/Registration/Terms/ImageTerm.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/MaskScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D, class Formula>
ImageTerm<D> termOf(const TermScene<D>& scene, const std::string& text = "")
{
  const Parameters parameters = parametersOf(text, D, 1, "Metric0");
  ImageTerm<D> term(parameters, std::make_unique<MetricOf<Formula>>(parameters));
  term.prepareForLevel(host, scene.level);
  return term;
}

// Orders 2 and up are smooth, so truncation (step^2) and float intensities (1e-7 / step) are left. At order 1
// the gradient jumps where a sample crosses a voxel's plane inside the step.
constexpr double stepMm = 1e-3, smoothTolerance = 2e-3, linearTolerance = 2e-2;

template <class Formula>
class ImageTermGradientTest : public ::testing::Test {
};
using Formulas = ::testing::Types<AdvancedMeanSquares, AdvancedNormalizedCorrelation,
                                  AdvancedMattesMutualInformation, NormalizedMutualInformation>;
TYPED_TEST_SUITE(ImageTermGradientTest, Formulas);

TYPED_TEST(ImageTermGradientTest, MatchesFiniteDifferencesThroughAnAffineTransform)
{
  for (const int order : {1, 3}) {
    TermScene<3> scene(order, {24, 20, 18});
    scene.useAffine();
    auto term = termOf<3, TypeParam>(scene);

    expectGradientMatchesFiniteDifferences<3>(term, scene.points(3000), scene.chain->parameters,
                                              stepMm / 20, // mm at the border
                                              order == 1 ? linearTolerance : smoothTolerance);
  }
}

TYPED_TEST(ImageTermGradientTest, MatchesFiniteDifferencesThroughABSplineAfterAnAffineTransform)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<2> scene(3, {40, 36});
    scene.useAffine();
    scene.useAsInitial(combination);
    scene.useBSpline();
    auto term = termOf<2, TypeParam>(scene);

    expectGradientMatchesFiniteDifferences<2>(term, scene.points(1500), scene.chain->parameters, stepMm,
                                              smoothTolerance);
  }
}

TYPED_TEST(ImageTermGradientTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  auto term = termOf<3, TypeParam>(scene);

  expectSameBitsForAnyThreadCount<3>(term, scene.points(2500, 0), scene.chain->parameters);
  expectSameBitsForAnyThreadCount<3>(term, scene.lattice(1), scene.chain->parameters);
}

/// The result that the term should find, computed one sample at a time.
template <int D>
struct NaiveSquares {
  double sum = 0;
  std::size_t valid = 0, asked = 0;

  NaiveSquares(const TermScene<D>& scene, const SampleSet<D>& samples)
  {
    const PointList<D> all = allSamples<D>(samples);
    asked = all.positions();
    for (std::size_t i = 0; i < asked; ++i) {
      checks::Points<D> point(1);
      for (int d = 0; d < D; ++d)
        point.mm[d][0] = all.mm[d][i];
      mapChain<D>(host, *scene.chain, point.list(), point.out());
      Vec<D> mappedMm;
      for (int d = 0; d < D; ++d)
        mappedMm[d] = point.mm[d][0];
      if (scene.level.movingMask && !scene.level.movingMask->contains(mappedMm))
        continue;
      float value = 0;
      std::uint8_t inside = 0;
      scene.interpolator->evaluate(host, point.list(), &value, nullptr, &inside);
      if (!inside)
        continue;
      sum += (double(value) - all.fixed[i]) * (double(value) - all.fixed[i]);
      ++valid;
    }
  }
};

TEST(ImageTermTest, CountsWhatFallsInsideTheMovingImageAndItsMask)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  for (double& parameter : scene.chain->parameters)
    parameter += 6; // mm: a good part leaves the image
  for (const bool masked : {false, true}) {
    if (masked)
      useMasksOfABall(scene);
    auto term = termOf<3, AdvancedMeanSquares>(scene, "(RequiredRatioOfValidSamples 0.1)");
    for (const SampleSet<3>& samples : {scene.lattice(1), scene.lattice(3), scene.points(1777, 0)}) {
      const NaiveSquares<3> naive(scene, samples);

      const TermValue found = term.evaluate(host, samples, scene.chain->parameters, {});

      EXPECT_EQ(found.asked, naive.asked);
      EXPECT_EQ(found.valid, naive.valid);
      EXPECT_LT(found.valid, found.asked);
      EXPECT_NEAR(found.value, naive.sum / static_cast<double>(naive.valid),
                  1e-9 * found.value); // the order of sums in double
    }
  }
}

TEST(ImageTermTest, ManySamplesAreGatheredTwiceAndGiveTheSame)
{
  TermScene<2> scene(1, {600, 480}); // more positions than are kept
  scene.useAffine();
  auto term = termOf<2, AdvancedNormalizedCorrelation>(scene);
  const SampleSet<2> samples = scene.lattice(1);
  ASSERT_GT(positionCount<2>(samples), std::size_t(1) << 18);

  expectSameBitsForAnyThreadCount<2>(term, samples, scene.chain->parameters);
  expectGradientMatchesFiniteDifferences<2>(term, samples, scene.chain->parameters, 1e-6, linearTolerance);
}

TEST(ImageTermTest, SamplesWithoutANumberAreLeftOut)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  SampleSet<2> samples = scene.points(1000);
  std::get<PointList<2>>(samples).fixed[17] = std::numeric_limits<float>::quiet_NaN();
  auto term = termOf<2, AdvancedMeanSquares>(scene);

  const TermValue found = term.evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, 999u);
  EXPECT_TRUE(std::isfinite(found.value));
}

TEST(ImageTermTest, MovingImageDerivativeScalesMultiplyTheGradientAlongItsAxes)
{
  TermScene<2> scene(1, {40, 36});
  scene.use(std::make_shared<AffineTransform<2>>(parametersOf("", 2, 1, "Transform0")), 0.02);
  const SampleSet<2> samples = scene.points(500);
  const auto translationPart = [&](const std::string& text) {
    auto term = termOf<2, AdvancedMeanSquares>(scene, text);
    const std::vector<double> gradient = gradientOf<2>(term, samples, scene.chain->parameters);
    return Vec<2>{gradient[4],
                  gradient[5]}; // J is 1 for the translation, so this is a sum of image gradients
  };
  const Vec<2> whole = translationPart("");

  const Vec<2> world = translationPart("(MovingImageDerivativeScales 2 0)");
  EXPECT_EQ(translationPart("(MovingImageDerivativeScales 0)"), // as in elastix
            translationPart("(MovingImageDerivativeScales 0 1)"));
  const Vec<2> own = translationPart(
      "(MovingImageDerivativeScales 2 0)\n(ScaleGradientWithRespectToMovingImageOrientation \"true\")");

  const Matrix<2>& direction = scene.moving->geometry.direction;
  const double along = direction[0][0] * whole[0] + direction[1][0] * whole[1]; // of the image's first axis
  const double tolerance = 1e-5 * std::hypot(whole[0], whole[1]);               // gradients are floats
  EXPECT_NEAR(world[0], 2 * whole[0], tolerance);
  EXPECT_NEAR(world[1], 0, tolerance);
  EXPECT_NEAR(own[0], 2 * along * direction[0][0], tolerance);
  EXPECT_NEAR(own[1], 2 * along * direction[1][0], tolerance);
}

TEST(ImageTermTest, ParametersThatAreNotTheChainsWin)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  auto term = termOf<2, AdvancedMeanSquares>(scene);
  const SampleSet<2> samples = scene.points(500);
  std::vector<double> others = scene.chain->parameters;
  others[4] += 3;

  const double asked = term.evaluate(host, samples, others, {}).value;

  scene.chain->parameters = others;
  EXPECT_EQ(asked, term.evaluate(host, samples, scene.chain->parameters, {}).value);
}

TEST(ImageTermTest, TooFewValidSamplesNameTheLevelAndTheRemedies)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  scene.chain->parameters[4] += 1e4;
  const SampleSet<2> samples = scene.points(200);
  const auto evaluate = [&](const std::string& text) {
    auto term = termOf<2, AdvancedMeanSquares>(scene, text);
    return messageOf([&] { term.evaluate(host, samples, scene.chain->parameters, {}); });
  };

  EXPECT_EQ(evaluate(""), "Metric0, level 0: 0 of 200 samples lie inside the moving image and its mask: Too "
                          "many samples map outside moving image buffer: 0 / 200. Usual remedies: a better "
                          "start (AutomaticTransformInitialization or -t0), a mask or "
                          "RequiredRatioOfValidSamples, smaller steps (MaximumStepLength).");
  for (const char* unchecked : {"(CheckNumberOfSamples \"false\")", "(RequiredRatioOfValidSamples 0)"}) {
    EXPECT_EQ(evaluate(unchecked), evaluate("")) << "nothing is left to compare";
    scene.chain->parameters[4] -= 1e4 - 44; // few samples are left
    EXPECT_EQ(evaluate(unchecked), "no error");
    EXPECT_NE(evaluate(""), "no error");
    scene.chain->parameters[4] += 1e4 - 44;
  }
}

TEST(ImageTermTest, AnInterpolatorWithoutGradientIsRefusedWhenAGradientIsAsked)
{
  TermScene<2> scene(0, {40, 36});
  scene.useAffine();
  auto term = termOf<2, AdvancedMeanSquares>(scene);
  const SampleSet<2> samples = scene.points(200);

  EXPECT_EQ(exitCodeOf([&] { term.evaluate(host, samples, scene.chain->parameters, {}); }), ExitCode::done);
  EXPECT_EQ(exitCodeOf([&] { gradientOf<2>(term, samples, scene.chain->parameters); }), ExitCode::usage);
}

}
}
