// needs: GPU, Runs
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Runs/RunQuality.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BSplineChains.h"
#include "Testing/Support/Scenes/NoiseImage.h"

namespace tessera {
namespace {

using namespace testing;

class RunQualityOnCudaTest : public GpuTest {
protected:
  template <int D>
  ImagePointer<D> alone(const Image<D>& image)
  {
    const auto voxels = std::make_shared<Buffer<float>>();
    voxels->fromHost(cuda, image.voxels);
    return imageOnCuda<D>(cuda, image.geometry, voxels);
  }

  /// Moving images are noise like the fixed one, or patches of three values; points go out of them.
  template <int D>
  void expectFiguresOfTheHost(const Size<D>& size, bool withMasks, bool inPatches)
  {
    const ImageGeometry<D> geometry = obliqueGeometry<D>(size);
    const Image<D> fixed = noiseImage<D>(geometry, 1);
    Image<D> moving = fixed;
    addNoise<D>(moving, 20, 2);
    if (inPatches)
      for (std::size_t i = 0; i < moving.voxels.size(); ++i)
        moving.voxels[i] = static_cast<float>(i % size[0] / 10 % 3);
    StageInput<D> onHost;
    onHost.fixed = {std::make_shared<Image<D>>(fixed)};
    onHost.moving = {std::make_shared<Image<D>>(moving)};
    if (withMasks) {
      std::vector<std::uint8_t> inside(geometry.voxelCount());
      for (std::size_t i = 0; i < inside.size(); ++i)
        inside[i] = i % 7 != 3 && i > inside.size() / 5;
      onHost.fixedMasks = {std::make_shared<Mask<D>>(geometry, inside)};
      std::ranges::reverse(inside);
      onHost.movingMasks = {std::make_shared<Mask<D>>(geometry, inside)};
    }
    StageInput<D> onDevice = onHost;
    onDevice.fixed = {alone<D>(fixed)};
    onDevice.moving = {alone<D>(moving)};
    const TransformChain<D> chain = randomBSplineChain<D>(gridAcross<D>(geometry, perAxis<D>(9.0), 3), 12);

    const RunQuality wanted = runQuality<D>(host, allComponents(), onHost, nullptr, chain),
                     found = runQuality<D>(cuda, allComponents(), onDevice, nullptr, chain);
    EXPECT_TRUE(onDevice.fixed.front()->voxels.empty() && onDevice.moving.front()->voxels.empty());
    EXPECT_EQ(found.overlapBefore, wanted.overlapBefore);
    EXPECT_EQ(found.overlap, wanted.overlap);
    EXPECT_LT(wanted.overlap, 1);
    EXPECT_EQ(found.correlationBefore, wanted.correlationBefore);
    EXPECT_EQ(found.correlation, wanted.correlation);
    EXPECT_EQ(found.meanDisplacementMm, wanted.meanDisplacementMm);
    EXPECT_EQ(found.largestDisplacementMm, wanted.largestDisplacementMm);
    EXPECT_FALSE(found.fixedIsInPatches);
    EXPECT_EQ(found.movingIsInPatches, inPatches);
    ASSERT_TRUE(found.mutualInformation && wanted.mutualInformation);
    EXPECT_EQ(found.mutualInformation->nats, wanted.mutualInformation->nats);
    EXPECT_EQ(found.mutualInformation->turnedAnyhow, wanted.mutualInformation->turnedAnyhow);
    EXPECT_EQ(found.mutualInformation->turnedBy10Degrees, wanted.mutualInformation->turnedBy10Degrees);
    EXPECT_EQ(found.mutualInformation->shifted, wanted.mutualInformation->shifted);
  }
};

TEST_F(RunQualityOnCudaTest, ImagesOnTheDeviceAloneStayThereAndHaveTheFiguresOfTheHost)
{
  for (const bool withMasks : {false, true})
    for (const bool inPatches : {false, true}) {
      expectFiguresOfTheHost<2>({401, 300}, withMasks, inPatches);
      expectFiguresOfTheHost<3>({97, 80, 61}, withMasks, inPatches);
    }
}

}
}
