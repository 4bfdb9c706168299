#include "Components/ImageSamplers/GridSampler.h"
#include "Components/ImageSamplers/FullSampler.h"

#include "Testing/Support/Checks/SamplerChecks.h"

namespace tessera {
namespace {

using namespace testing;

TEST(FullSamplerTest, GivesEveryVoxelOfTheMask)
{
  const SamplerScene<3> scene({17, 19, 23});
  for (const MaskPointer<3>& mask : {MaskPointer<3>(), scene.ball, scene.coarseBall}) {
    FullSampler<3> sampler(parametersOf(""));
    sampler.prepareForLevel(host, scene.fixed, mask, 0);

    const PointList<3> samples = drawn<3>(sampler, scene.draw);

    std::size_t expected = 0;
    const AffineMap<3> pointFromIndex = scene.fixed->geometry.pointFromIndex();
    forEachIndex<3>(scene.fixed->geometry.size, [&](const Vec<3>& index, std::size_t) {
      expected += !mask || mask->contains(pointFromIndex(index));
    });
    EXPECT_EQ(samples.positions(), expected);
    EXPECT_FALSE(sampler.isRandom());
    expectSamplesOfTheImage<3>(samples, *scene.fixed, mask.get());
  }
}

TEST(GridSamplerTest, IsCentredAndCountsAsElastixDoes)
{
  const SamplerScene<2> scene({17, 20});
  GridSampler<2> sampler(parametersOf("(SampleGridSpacing 5 3 1 4)", 2, 3, "ImageSampler0"));

  sampler.prepareForLevel(host, scene.fixed, nullptr, 0);

  // 17 voxels at step 5: 4 samples over 16 voxels, one left over: none before. 20 at 3: 7 over 19, one left
  // over.
  const auto& coarse = std::get<VoxelLattice<2>>(sampler.samples());
  EXPECT_EQ(coarse.count, (Size<2>{4, 7}));
  EXPECT_EQ(coarse.first, (Size<2>{0, 0}));
  EXPECT_EQ(coarse.step, (Size<2>{5, 3}));

  sampler.prepareForLevel(host, scene.fixed, nullptr, 1);
  const auto& middle = std::get<VoxelLattice<2>>(sampler.samples());
  EXPECT_EQ(middle.count, (Size<2>{17, 5}));
  EXPECT_EQ(middle.first, (Size<2>{0, 1})); // 20 at 4: 5 over 17, three left over

  sampler.prepareForLevel(host, scene.fixed, nullptr, 2);
  EXPECT_EQ(std::get<VoxelLattice<2>>(sampler.samples()).step, (Size<2>{2, 2}))
      << "missing entries are 2, not the first";
}

TEST(GridSamplerTest, IsCroppedToTheMaskFirst)
{
  const SamplerScene<3> scene({17, 19, 23});
  GridSampler<3> sampler(parametersOf("(SampleGridSpacing 3 3 3)"));
  sampler.prepareForLevel(host, scene.fixed, scene.ball, 0);

  const PointList<3> samples = drawn<3>(sampler, scene.draw);

  EXPECT_LT(std::get<VoxelLattice<3>>(sampler.samples()).positions(), 6u * 7 * 8);
  EXPECT_GT(samples.positions(), 5u);
  expectSamplesOfTheImage<3>(samples, *scene.fixed, scene.ball.get());
}

}
}
