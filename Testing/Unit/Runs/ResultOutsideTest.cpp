// needs: Runs
#include "Core/Runs/Resampling/ResultOutside.h"

#include "Components/Transforms/TranslationStackTransform.h"
#include "Core/Registry/Registry.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace testing;

/// Of a grid of 100 x 10 pixels of 1 mm after a shift along its first axis.
std::vector<Vec<2>> shiftedPixels(double mm)
{
  TransformChain<2> chain;
  chain.transform = allComponents().create<Transform<2>>("TranslationTransform", parametersOf("", 2), "test");
  chain.parameters = {mm, 0};
  return mappedVoxels<2>(Context{}, chain, centredGeometry<2>({100, 10}, {1, 1}));
}

double shareOf(const std::vector<Vec<2>>& mappedMm, const ImageGeometry<2>& image)
{
  return resultOutside<2>(mappedMm, image).share;
}

TEST(ResultOutsideTest, ThePartThatLeavesTheImageCounts)
{
  const ImageGeometry<2> image = centredGeometry<2>({100, 10}, {1, 1});
  EXPECT_EQ(shareOf(shiftedPixels(0), image), 0);
  EXPECT_EQ(shareOf(shiftedPixels(0.49), image), 0); // still in the last pixel
  EXPECT_NEAR(shareOf(shiftedPixels(-25), image), 0.25, 1e-9);
  EXPECT_EQ(shareOf(shiftedPixels(std::nan("")), image), 1);
}

template <int D>
void expectEveryTimeOf(const Size<D>& size)
{
  Vec<D> spacing;
  spacing.fill(1);
  const ImageGeometry<D> grid = centredGeometry<D>(size, spacing); // every second voxel in space
  const auto series = std::make_shared<const Image<D>>(Image<D>{grid, {}});
  const auto still = std::make_shared<TranslationStackTransform<D>>(parametersOf("(A 1)"));
  Context cpu;
  const TransformChain<D> chain{nullptr, Combination::compose, still,
                                still->initialize(cpu, {series, series, nullptr, nullptr, nullptr, nullptr})};
  for (const std::size_t missing : {1, 3}) {
    ImageGeometry<D> image = grid;
    image.size.back() -= missing;
    EXPECT_NEAR(resultOutside<D>(mappedVoxels<D>(cpu, chain, grid), image).share,
                static_cast<double>(missing) / 6, 1e-9);
  }
}

TEST(ResultOutsideTest, EveryTimeOfASeriesCounts)
{
  expectEveryTimeOf<3>({100, 100, 6});
  expectEveryTimeOf<4>({22, 22, 22, 6});
}

TEST(ResultOutsideTest, NearlyAllOfItIsAWarningWithBothPlaces)
{
  const ImageGeometry<2> image = centredGeometry<2>({100, 10}, {1, 1});
  EXPECT_EQ(resultOutside<2>(shiftedPixels(94), image).warning, "");
  EXPECT_EQ(resultOutside<2>(shiftedPixels(1000), image).warning,
            "100.0 % of the voxels of the result lie outside of the moving image. The grid is mapped to "
            "950.5 to 1049.5, -4.5 to 4.5 mm, that image lies at -49.5 to 49.5, -4.5 to 4.5 mm.");
}

}
}
