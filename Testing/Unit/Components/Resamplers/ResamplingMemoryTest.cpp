#include "Core/Registration/Stage/ResamplingMemory.h"

#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace testing;

const Size<3> fixedSize{40, 30, 20}, movingSize{50, 40, 30};

struct Counted {
  std::string interpolator = "linear", chain = "A";
  PixelType type = PixelType::float32;
  bool hasInvalidVoxels = false, voxelsComeFirst = false;
  std::size_t components = 1;
  Size<3> size = movingSize;

  double bytes() const
  {
    const ResampleScene<3> scene(fixedSize, {4, 4, 4});
    ImageGeometry<3> grid = scene.moving->geometry;
    grid.size = size;
    std::vector<std::unique_ptr<Interpolator<3>>> made;
    std::vector<Interpolator<3>*> interpolators;
    for (std::size_t c = 0; c < components; ++c)
      interpolators.push_back(made.emplace_back(resampleInterpolator<3>(interpolator)).get());
    return memoryOfResampling<3>(
               DefaultResampler<3>(parametersOf("", 3, 1, "")), letterChain<3>(chain, scene.fixed),
               {interpolators, grid, hasInvalidVoxels, voxelsComeFirst, type}, scene.fixed->geometry)
               .bytes()
           - roundingOfResampling;
  }
};

constexpr double fixedVoxels = 40 * 30 * 20, movingVoxels = 50 * 40 * 30,
                 marks = 16 * ((40 * 30 * 20 + 127) / 128); // a bit a voxel, in vectors of 16 bytes

TEST(ResamplingMemory, IsThatOfTheImageAndOfItsResult)
{
  EXPECT_NEAR(Counted{}.bytes(), 4 * movingVoxels + 4 * fixedVoxels + marks, 300);
  EXPECT_NEAR((Counted{.type = PixelType::int16}.bytes()), 4 * movingVoxels + (4 + 2) * fixedVoxels + marks,
              300);
  EXPECT_NEAR((Counted{.hasInvalidVoxels = true}.bytes()), 5 * movingVoxels + 4 * fixedVoxels + marks, 300);
  // The pixels of two chunks, one a component, and the floats of one.
  EXPECT_NEAR((Counted{.type = PixelType::int16, .components = 3}.bytes()),
              3 * 4 * movingVoxels + (4 + 2 * 2) * fixedVoxels + marks, 300);
}

TEST(ResamplingMemory, HoldsVoxelsAndCoefficientsWhileASplineIsPrepared)
{
  EXPECT_EQ(Counted{.interpolator = "3"}.bytes(), 2 * 4 * movingVoxels);
  EXPECT_EQ((Counted{.interpolator = "3", .components = 3}.bytes()),
            3 * 4 * movingVoxels + std::max(4 * movingVoxels, 2 * 4 * fixedVoxels + marks));
  EXPECT_EQ((Counted{.interpolator = "3", .voxelsComeFirst = true, .components = 3}.bytes()),
            2 * 3 * 4 * movingVoxels);
  // Lines that one block cannot filter are read from a copy.
  EXPECT_EQ((Counted{.interpolator = "3", .size = {8, 2000, 8}}.bytes()), 3 * 4 * 8 * 2000 * 8);
}

TEST(ResamplingMemory, HasTheParametersOfTheTransforms)
{
  const double linear = Counted{}.bytes(), spline = Counted{.chain = "B"}.bytes();
  EXPECT_GT(spline, linear + 3 * 4 * 10 * 8 * 6); // more than that many coefficients
  EXPECT_LT(spline, linear + 3 * (4 + 8) * 20 * 20 * 20);
}

}
}
