#include "Components/Metrics/LocalNormalizedCorrelation.h"

#include "Core/Registration/Stage/StageComponents.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/NaiveLocalCorrelation.h"

namespace tessera {
namespace {

using namespace testing;

TEST(LocalNormalizedCorrelationTest, ALinearRelationGivesMinusOneAndItsNegativeOne)
{
  LocalCorrelationCase images({11, 9, 7});
  for (const float factor : {0.5f, -0.5f}) {
    for (std::size_t i = 0; i < images.fixed.size(); ++i)
      images.moving[i] = 50 + factor * images.fixed[i];
    // The noise adds 1e-6 to variances of some 0.08 and 0.02.
    EXPECT_NEAR(localResult("", images).value, factor > 0 ? -1 : 1, 1e-3);
  }
}

TEST(LocalNormalizedCorrelationTest, OneWindowByHand)
{
  // One row of two samples, both in both windows: f = -0.5, 0.5 and m = -0.5, 0.5 in units of the range 100,
  // so cov = varF = varM = 0.5, and the noise of 0.001 adds 2e-6.
  LocalCorrelationCase images({2, 1, 1});
  images.fixed = {0, 100};
  images.moving = {0, 100};
  const double variance = 0.5 + 2e-6, weight = 0.5 / variance, opposite = -0.5 + 2e-6;
  EXPECT_DOUBLE_EQ(localResult("", images).value, -weight);
  EXPECT_DOUBLE_EQ(localResult(ownNoise, images).value, -0.25 / (variance * variance));
  images.moving = {100, 0};
  EXPECT_DOUBLE_EQ(localResult("", images).value, weight * opposite * opposite / (variance * variance));
  EXPECT_DOUBLE_EQ(localResult(ownNoise, images).value, 0.25 / (variance * variance));
}

TEST(LocalNormalizedCorrelationTest, AnImageBesideItselfHasNoSlopesIfNoiseIsShared)
{
  LocalCorrelationCase images({31, 29, 1});
  for (std::size_t i = 0; i < images.fixed.size(); ++i) { // a smooth blob, flat far from it
    const double x = static_cast<double>(i % 31) - 15, y = static_cast<double>(i / 31) - 14;
    images.fixed[i] = images.moving[i] = static_cast<float>(80 * std::exp(-(x * x + y * y) / 40));
  }
  const auto largestSlope = [&](const std::string& text) {
    return largestMagnitude(localResult(text + "\n(LocalIntensityNoise 0.02)", images).slopes);
  };
  EXPECT_LT(largestSlope(""), 1e-6 * largestSlope(ownNoise));
}

TEST(LocalNormalizedCorrelationTest, AgreesWithANaiveLoopAtAwkwardSizes)
{
  for (const LocalCorrelationCase& images : awkwardCases())
    for (const std::string& window : awkwardWindows()) {
      const LatticeResult found = localResult(window, images), naive = naiveResult(window, images);
      EXPECT_NEAR(found.value, naive.value, 1e-12) << describe(images) << window;
      expectSameSlopes(found.slopes, naive.slopes, 3e-6, describe(images) + window); // kept as floats
    }
  const LocalCorrelationCase images({9, 7, 5}, 0.3);
  for (const std::string noise : {"", ownNoise}) {
    const LatticeResult found = localResult("(LocalIntensityNoise 0.1)\n" + noise, images),
                        naive = naiveResult(noise, images, 0.1);
    EXPECT_NEAR(found.value, naive.value, 1e-12) << noise;
    expectSameSlopes(found.slopes, naive.slopes, 1e-6, "more noise " + noise);
  }
}

TEST(LocalNormalizedCorrelationTest, SlopesMatchFiniteDifferences)
{
  for (const std::string window :
       {"(LocalWindowRadius 1)", "(LocalWindowRadius 2 1 3)", "(LocalWindowSigma 0.8)",
        "(LocalIntensityNoise 0.1)", "(LocalIntensityNoise 0.1)\n(LocalIntensityNoiseIsShared \"false\")"})
    for (const double missing : {0.0, 0.2}) {
      LocalCorrelationCase images({7, 6, 5}, missing);
      expectSlopesAreDifferences(images, 1, 1e-4, window,
                                 [&](bool withSlopes) { return localResult(window, images, 1, withSlopes); });
    }
}

TEST(LocalNormalizedCorrelationTest, WindowsWithoutContrastCountAsZero)
{
  LocalCorrelationCase images({9, 8, 7});
  std::ranges::fill(images.moving, 40.0f);
  const LatticeResult flat = localResult(ownNoise, images);
  EXPECT_NEAR(flat.value, 0, 1e-12);
  for (const float slope : flat.slopes)
    EXPECT_NEAR(slope, 0, 1e-12);
  EXPECT_NEAR(localResult("", images).value, 0, 1e-4); // noise of 1e-6 beside variances of some 0.08
  std::swap(images.fixed, images.moving);
  EXPECT_NEAR(localResult("", images).value, 0, 1e-12);
  std::swap(images.fixed, images.moving);

  // Half of the image is noise of a tenth of the thousandth that counts: that half adds next to nothing.
  LocalCorrelationCase half({40, 8, 7});
  half.moving = half.fixed;
  const double whole = localResult("", half).value;
  for (std::size_t i = 0; i < half.fixed.size(); ++i)
    if (i % 40 >= 20)
      half.fixed[i] = half.moving[i] = 50 + 1e-4f * half.fixed[i];
  EXPECT_NEAR(localResult("", half).value, 0.5 * whole, 0.1); // beside windows that reach over the border
  EXPECT_GT(localResult("", half).value, 0.7 * whole);
}

TEST(LocalNormalizedCorrelationTest, RepeatsItsBitsForAnyThreadCount)
{
  for (const std::string window : {"(LocalWindowRadius 3)", "(LocalWindowSigma 1)"}) {
    const LocalCorrelationCase images({19, 70, 130}, 0.1);
    const LatticeResult once = localResult(window, images);
    for (const int threads : {2, 5}) {
      const LatticeResult again = localResult(window, images, threads);
      EXPECT_EQ(again.value, once.value) << threads;
      EXPECT_EQ(again.slopes, once.slopes) << threads;
    }
  }
}

TEST(LocalNormalizedCorrelationTest, AValueAloneIsTheSame)
{
  const LocalCorrelationCase images({13, 12, 11}, 0.1);
  EXPECT_EQ(localResult("", images, 1, false).value, localResult("", images).value);
}

TEST(LocalNormalizedCorrelationTest, EachLevelAndAxisHasItsOwnRadius)
{
  const Parameters parameters = parametersOf("(LocalWindowRadius 4 3 2 1 1 2)", 3, 2, "Metric0");
  EXPECT_EQ(LocalWindow::read(parameters, 0).radius, (std::array{4, 3, 2}));
  EXPECT_EQ(LocalWindow::read(parameters, 1).radius, (std::array{1, 1, 2}));
  EXPECT_EQ(LocalWindow::read(parametersOf("", 2, 1, "Metric0"), 0).radius, (std::array{2, 2, 0}));
  EXPECT_EQ(LocalWindow::read(parametersOf("(LocalWindowSigma 1 1.5)", 3, 2, "Metric0"), 1).radius,
            (std::array{5, 5, 5}));
}

TEST(LocalNormalizedCorrelationTest, OneRadiusALevelIsThatOfAllItsAxes)
{
  const Parameters parameters = parametersOf("(LocalWindowRadius 4 3 2)", 2, 3, "Metric0");
  for (const std::size_t level : {0, 1, 2})
    EXPECT_EQ(LocalWindow::read(parameters, level).radius,
              (std::array{4 - static_cast<int>(level), 4 - static_cast<int>(level), 0}));
  EXPECT_EQ(LocalWindow::read(parametersOf("(LocalWindowRadius 4 3)", 2, 1, "Metric0"), 0).radius,
            (std::array{4, 3, 0}));
}

TEST(LocalNormalizedCorrelationTest, AnotherNumberOfRadiiIsRefused)
{
  for (const std::string values : {"4 3", "4 3 2 1", "4 3 2 1 1 1 1"}) {
    const std::string message = messageOf(
        [&] { LocalWindow::read(parametersOf("(LocalWindowRadius " + values + ")", 2, 3, "Metric0"), 0); });
    EXPECT_PRED2(contains, message, " values for 3 levels of 2 axes. Allowed: 1, 3 or 6 values.");
  }
}

TEST(LocalNormalizedCorrelationTest, TwoKindsOfWindowAtOnceAreRefused)
{
  const std::string message = messageOf([] {
    LocalNormalizedCorrelation(parametersOf("(LocalWindowRadius 2)\n(LocalWindowSigma 1)", 3, 1, "Metric0"));
  });
  EXPECT_PRED2(contains, message, "Allowed: LocalWindowRadius for a box, or LocalWindowSigma for a Gaussian");
}

TEST(LocalNormalizedCorrelationTest, CudaTakesWindowsUpToTheWidestOfATile)
{
  const auto why = [](const std::string& text) {
    return LocalNormalizedCorrelation(parametersOf(text, 3, 2, "Metric0")).whyNotOnCuda();
  };
  EXPECT_EQ(why(""), "");
  EXPECT_EQ(why("(LocalWindowRadius 16)"), "");
  EXPECT_PRED2(contains, why("(LocalWindowRadius 2 2 2 2 2 17)"), "more than 16 samples");
  EXPECT_PRED2(contains, why("(LocalWindowSigma 6)"), "more than 16 samples");
}

TEST(LocalNormalizedCorrelationTest, SamplersWithoutNeighboursAreRefused)
{
  const auto make = [](const std::string& sampler) {
    createComponents<3>(allComponents(),
                        parametersOf("(Metric \"LocalNormalizedCorrelation\")\n"
                                     "(Transform \"AffineTransform\")\n(Optimizer \"ConjugateGradient\")\n"
                                     "(ImageSampler \""
                                         + sampler + "\")",
                                     3, 1, ""));
  };
  for (const std::string sampler : {"Random", "RandomCoordinate", "RandomSparseMask"}) {
    const std::string message = messageOf([&] { make(sampler); });
    EXPECT_PRED2(contains, message, "\"" + sampler + "\" for the metric \"LocalNormalizedCorrelation\"");
    EXPECT_PRED2(contains, message, "Allowed: \"Full\" or \"Grid\"");
  }
  EXPECT_NO_THROW(make("Full"));
  EXPECT_NO_THROW(make("Grid"));
}

}
}
