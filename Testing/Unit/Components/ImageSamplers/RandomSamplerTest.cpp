#include "Components/ImageSamplers/RandomSampler.h"
#include "Components/ImageSamplers/RandomSparseMaskSampler.h"

#include "Testing/Support/Checks/SamplerChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

template <class Sampler>
class RandomVoxelSamplerTest : public ::testing::Test {
};
using Samplers = ::testing::Types<RandomSampler<3>, RandomSparseMaskSampler<3>>;
TYPED_TEST_SUITE(RandomVoxelSamplerTest, Samplers);

TYPED_TEST(RandomVoxelSamplerTest, DrawsVoxelsInsideTheMaskAndReachesAllOfThem)
{
  const SamplerScene<3> scene({15, 11, 13});
  for (const MaskPointer<3>& mask : {MaskPointer<3>(), scene.ball, scene.coarseBall}) {
    TypeParam sampler(parametersOf("(NumberOfSpatialSamples 40000)")); // 18 a voxel or more
    sampler.prepareForLevel(host, scene.fixed, mask, 0);

    const PointList<3> samples = drawn<3>(sampler, scene.draw);

    expectSamplesOfTheImage<3>(samples, *scene.fixed, mask.get());
    std::vector<int> hits(scene.fixed->voxels.size());
    for (std::size_t i = 0; i < samples.positions(); ++i) {
      const Vec<3> index = indexOfSample<3>(scene.fixed->geometry, samples, i);
      Vec<3> nearest;
      for (int d = 0; d < 3; ++d) {
        nearest[d] = std::round(index[d]);
        ASSERT_NEAR(index[d], nearest[d], 1e-9);
      }
      ++hits[static_cast<std::size_t>(nearest[0] + 15 * (nearest[1] + 11 * nearest[2]))];
    }
    const AffineMap<3> pointFromIndex = scene.fixed->geometry.pointFromIndex();
    forEachIndex<3>(scene.fixed->geometry.size, [&](const Vec<3>& index, std::size_t offset) {
      const bool inside = !mask || mask->contains(pointFromIndex(index));
      EXPECT_EQ(hits[offset] > 0, inside)
          << "voxel " << offset; // to miss one of 2145 has a chance of 2145 exp(-18)
    });
  }
}

TYPED_TEST(RandomVoxelSamplerTest, DrawsRepeat)
{
  const SamplerScene<3> scene({24, 20, 18});
  expectRepeatableDraws<3, TypeParam>(scene, nullptr);
  expectRepeatableDraws<3, TypeParam>(scene, scene.ball);
}

TEST(RandomSamplerTest, GivesUpWhereTheSparseSamplerFindsEveryVoxelOfAThinMask)
{
  const SamplerScene<3> scene({24, 20, 18});
  Mask<3> corners = drawMask<3>(scene.fixed->geometry, [](const Vec<3>&) { return false; });
  corners.voxels.front() = corners.voxels.back() = 1;
  const auto mask = std::make_shared<Mask<3>>(corners);
  RandomSampler<3> random(parametersOf(""));
  RandomSparseMaskSampler<3> sparse(parametersOf(""));
  random.prepareForLevel(host, scene.fixed, mask, 0);
  sparse.prepareForLevel(host, scene.fixed, mask, 0);

  EXPECT_EQ(exitCodeOf([&] { drawn<3>(random, scene.draw); }), ExitCode::registrationFailed);
  const PointList<3> samples = drawn<3>(sparse, scene.draw);
  expectSamplesOfTheImage<3>(samples, *scene.fixed, mask.get());
  EXPECT_NEAR(static_cast<double>(std::count(samples.fixed.begin(), samples.fixed.end(), 1.0f)), 2500,
              5 * std::sqrt(5000 * 0.25));
}

TEST(RandomSparseMaskSamplerTest, AnEmptyMaskIsAnUnreadableInput)
{
  const SamplerScene<3> scene({24, 20, 18});
  const auto empty =
      std::make_shared<Mask<3>>(drawMask<3>(scene.fixed->geometry, [](const Vec<3>&) { return false; }));
  RandomSparseMaskSampler<3> sampler(parametersOf(""));

  EXPECT_EQ(exitCodeOf([&] { sampler.prepareForLevel(host, scene.fixed, empty, 0); }),
            ExitCode::unreadableInput);
}

}
}
