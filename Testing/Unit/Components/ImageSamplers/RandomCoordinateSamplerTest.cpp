#include "Components/ImageSamplers/RandomCoordinateSampler.h"

#include "Testing/Support/Checks/SamplerChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
RandomCoordinateSampler<D> samplerOf(const SamplerScene<D>& scene, const std::string& text,
                                     const MaskPointer<D>& mask = nullptr)
{
  RandomCoordinateSampler<D> sampler(parametersOf(text, D, 3, "ImageSampler0"));
  sampler.prepareForLevel(host, scene.fixed, mask, 0);
  return sampler;
}

TEST(RandomCoordinateSamplerTest, DrawsPointsOfTheImageInsideTheMask)
{
  const SamplerScene<3> scene({24, 20, 18});
  for (const MaskPointer<3>& mask : {MaskPointer<3>(), scene.ball, scene.coarseBall}) {
    auto sampler = samplerOf<3>(scene, "(NumberOfSpatialSamples 3000)", mask);

    expectSamplesOfTheImage<3>(drawn<3>(sampler, scene.draw), *scene.fixed, mask.get());
  }
}

TEST(RandomCoordinateSamplerTest, DrawsRepeat)
{
  const SamplerScene<2> scene({40, 36});
  expectRepeatableDraws<2, RandomCoordinateSampler<2>>(scene, nullptr);
  expectRepeatableDraws<2, RandomCoordinateSampler<2>>(scene, scene.ball);
}

TEST(RandomCoordinateSamplerTest, PointsAreUniformBetweenTheOuterVoxels)
{
  const SamplerScene<3> scene({24, 20, 18});
  auto sampler = samplerOf<3>(scene, "(NumberOfSpatialSamples 20000)");

  const PointList<3> samples = drawn<3>(sampler, scene.draw);

  std::array<std::array<int, 5>, 3> counts{};
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    const Vec<3> index = indexOfSample<3>(scene.fixed->geometry, samples, i);
    for (int d = 0; d < 3; ++d)
      ++counts[d][static_cast<int>(
          std::min(0.9999, index[d] / static_cast<double>(scene.fixed->geometry.size[d] - 1)) * 5)];
  }
  for (const auto& ofAxis : counts)
    for (const int count : ofAxis)
      EXPECT_NEAR(count, 4000, 5 * std::sqrt(20000 * 0.2 * 0.8)); // five standard deviations of a fifth
}

TEST(RandomCoordinateSamplerTest, HigherOrdersInterpolateTheFixedImageBySplines)
{
  const SamplerScene<2> scene({40, 36});
  auto linear = samplerOf<2>(scene, "");
  const PointList<2> expected = drawn<2>(linear, scene.draw);
  for (const int order : {0, 2, 3, 5}) {
    auto sampler = samplerOf<2>(scene, "(FixedImageBSplineInterpolationOrder " + std::to_string(order) + ")");

    const PointList<2> samples = drawn<2>(sampler, scene.draw);

    EXPECT_EQ(samples.mm, expected.mm);
    for (std::size_t i = 0; i < samples.positions(); ++i) {
      const Vec<2> index = indexOfSample<2>(scene.fixed->geometry, samples, i);
      const bool nearBorder =
          std::min({index[0], index[1], 39 - index[0], 35 - index[1]}) < 12; // mirroring bends the ramp there
      if (order == 0) {
        ASSERT_EQ(samples.fixed[i],
                  static_cast<float>(ramp<2>({std::floor(index[0] + 0.5), std::floor(index[1] + 0.5)})));
      } else if (!nearBorder) {
        ASSERT_NEAR(samples.fixed[i], expected.fixed[i], 0.02)
            << "order " << order; // 30 a voxel, poles to the power of 12
      }
    }
  }
}

TEST(RandomCoordinateSamplerTest, ARandomRegionIsABoxThatMoves)
{
  const SamplerScene<3> scene({24, 20, 18});
  auto sampler = samplerOf<3>(
      scene, "(UseRandomSampleRegion \"true\")\n(SampleRegionSize 10 12 9)\n(NumberOfSpatialSamples 2000)");
  const Vec<3> sizeMm{10, 12, 9};
  std::array<Vec<3>, 2> lowest;
  for (int iteration = 0; iteration < 2; ++iteration) {
    Draw draw = scene.draw;
    draw.iteration += static_cast<std::uint32_t>(iteration);
    const PointList<3> samples = drawn<3>(sampler, draw);
    expectSamplesOfTheImage<3>(samples, *scene.fixed, nullptr);
    Vec<3> low, high;
    low.fill(1e9);
    high.fill(-1e9);
    for (std::size_t i = 0; i < samples.positions(); ++i) {
      const Vec<3> index = indexOfSample<3>(scene.fixed->geometry, samples, i);
      for (int d = 0; d < 3; ++d) {
        low[d] = std::min(low[d], index[d]);
        high[d] = std::max(high[d], index[d]);
      }
    }
    for (int d = 0; d < 3; ++d) {
      const double extentMm = (high[d] - low[d]) * scene.fixed->geometry.spacingMm[d];
      EXPECT_LE(extentMm, sizeMm[d] + 1e-9);
      EXPECT_GE(extentMm, 0.97 * sizeMm[d]) << "2000 uniform samples leave a thousandth at each side";
    }
    lowest[iteration] = low;
  }
  EXPECT_GT(std::abs(lowest[0][0] - lowest[1][0]), 0.1);
}

TEST(RandomCoordinateSamplerTest, TheRandomRegionCanBeSwitchedOffAndOnAgain)
{
  const SamplerScene<2> scene({40, 36});
  auto with = samplerOf<2>(scene, "(UseRandomSampleRegion \"true\")");
  auto without = samplerOf<2>(scene, "");
  const PointList<2> inRegion = drawn<2>(with, scene.draw);

  EXPECT_TRUE(with.setRandomRegion(false));
  EXPECT_EQ(drawn<2>(with, scene.draw).mm, drawn<2>(without, scene.draw).mm);
  EXPECT_FALSE(with.setRandomRegion(true));
  EXPECT_EQ(drawn<2>(with, scene.draw).mm, inRegion.mm);
  EXPECT_FALSE(without.setRandomRegion(false));
  EXPECT_FALSE(without.setRandomRegion(true));
}

TEST(RandomCoordinateSamplerTest, TheDefaultRegionIsAThirdOfTheLongestSide)
{
  const SamplerScene<2> scene({61, 5}); // 75 mm x 7 mm
  auto sampler = samplerOf<2>(scene, "(UseRandomSampleRegion \"true\")");

  const PointList<2> samples = drawn<2>(sampler, scene.draw);

  double low = 1e9, high = -1e9;
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    const double x = indexOfSample<2>(scene.fixed->geometry, samples, i)[0];
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_NEAR(high - low, 20, 0.1);
}

TEST(RandomCoordinateSamplerTest, ARegionLargerThanTheImageIsRefused)
{
  const SamplerScene<2> scene({41, 36});

  EXPECT_EQ(
      messageOf([&] { samplerOf<2>(scene, "(UseRandomSampleRegion \"true\")\n(SampleRegionSize 60 10)"); }),
      "text:2: (SampleRegionSize 60 10): the fixed image of level 0 is 50 mm long on axis 0, between the "
      "centres of its 41 voxels. Allowed: more than 0 and not more than that; a third is usual.");
}

TEST(RandomCoordinateSamplerTest, AMaskThatIsTooThinForItsBoxGivesUp)
{
  const SamplerScene<2> scene({40, 36});
  Mask<2> corners = drawMask<2>(scene.fixed->geometry, [](const Vec<2>&) { return false; });
  corners.voxels.front() = corners.voxels.back() = 1; // its box is the whole image
  auto sampler = samplerOf<2>(scene, "", std::make_shared<Mask<2>>(corners));

  for (const int threads : {1, 2}) {
    const auto act = [&] { drawn<2>(sampler, scene.draw, threads); };
    EXPECT_EQ(exitCodeOf(act), ExitCode::registrationFailed);
    EXPECT_PRED2(
        contains, messageOf(act),
        "Could not find enough image samples within reasonable time. Probably the mask is too small");
  }
}

TEST(RandomCoordinateSamplerTest, AnEmptyMaskIsAnUnreadableInput)
{
  const SamplerScene<2> scene({40, 36});
  const auto empty =
      std::make_shared<Mask<2>>(drawMask<2>(scene.fixed->geometry, [](const Vec<2>&) { return false; }));

  EXPECT_EQ(exitCodeOf([&] { samplerOf<2>(scene, "", empty); }), ExitCode::unreadableInput);
}

}
}
