#include "Components/Resamplers/Shared/InputSlices.h"

#include "Testing/Support/Scenes/ResampleScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// The index along the image's last axis that each voxel of some slices is mapped to.
template <int D>
std::vector<double> lastIndices(const TransformChain<D>& chain, const ImageGeometry<D>& moving,
                                const ImageGeometry<D>& output, const SliceRange& slices)
{
  const GridSlices<D> grid(output, slices);
  const AffineMap<D> pointFromIndex = grid.geometry.pointFromIndex(), toIndex = moving.indexFromPoint();
  std::vector<double> indices;
  for (std::size_t voxel = 0; voxel < grid.geometry.voxelCount(); ++voxel) {
    const Vec<D> index = indexOfVoxel<D>(grid.geometry.size, voxel);
    indices.push_back(toIndex(mappedPoint<D>(chain, pointFromIndex(index)))[D - 1]);
  }
  return indices;
}

/// The slices that linear interpolation reads there, or the border's slice if there is none.
template <int D>
void expectAllThatIsRead(const std::string& word)
{
  const ResampleScene<D> scene(perAxis<D>(std::size_t(23), -2), perAxis<D>(std::size_t(21), 7));
  const TransformChain<D> chain = letterChain<D>(word, scene.fixed);
  const ImageGeometry<D>&moving = scene.moving->geometry, &output = scene.fixed->geometry;
  const InputSlices<D> input(chain, moving, output);
  ASSERT_TRUE(input.known()) << word;
  const double last = static_cast<double>(moving.size[D - 1]) - 1;
  std::size_t fewest = moving.size[D - 1];
  for (const std::size_t count : {1, 2, 5})
    for (std::size_t first = 0; first + count <= output.size[D - 1]; ++first) {
      const SliceRange asked = input.askedBy({first, count});
      EXPECT_LE(asked.count, input.maxAskedBy(count)) << word;
      fewest = std::min(fewest, asked.count);
      for (const double index : lastIndices<D>(chain, moving, output, {first, count})) {
        ASSERT_LE(static_cast<double>(asked.first), std::clamp(std::floor(index), 0.0, last))
            << word << ", slice " << first;
        ASSERT_GE(static_cast<double>(asked.first + asked.count - 1),
                  std::clamp(std::floor(index) + 1, 0.0, last))
            << word << ", slice " << first;
      }
    }
  EXPECT_LT(fewest, moving.size[D - 1]) << word; // else nothing would be spared
}

TEST(InputSlices, HaveAllThatIsRead)
{
  for (const std::string word : {"T", "E", "S", "A", "B", "AB", "BA", "TABES"}) {
    expectAllThatIsRead<2>(word);
    expectAllThatIsRead<3>(word);
  }
}

/// Each slice one further down, from beyond the upper border to beyond the lower one.
TEST(InputSlices, AreTheBordersBeyondThem)
{
  ImageGeometry<3> moving;
  moving.size = {4, 4, 9};
  moving.spacingMm.fill(1);
  moving.direction = identityMatrix<3>();
  ImageGeometry<3> output = moving;
  output.size[2] = 40;
  output.originMm[2] = 24;
  output.direction[2][2] = -1;
  const auto image = std::make_shared<Image<3>>(noiseImage<3>(moving, 1));
  TransformChain<3> chain = letterChain<3>("T", image);
  std::fill(chain.parameters.begin(), chain.parameters.end(), 0.0);
  const InputSlices<3> input(chain, moving, output);
  const auto expectRange = [&](std::size_t slice, std::size_t first, std::size_t count) {
    EXPECT_EQ(input.askedBy({slice, 1}).first, first) << slice;
    EXPECT_EQ(input.askedBy({slice, 1}).count, count) << slice;
  };

  expectRange(0, 6, 3);  // index 24
  expectRange(20, 3, 4); // index 4: one before, and the two behind
  expectRange(39, 0, 3); // index -15
}

TEST(InputSlices, OfTwoBSplinesAreNotKnown)
{
  const ResampleScene<2> scene({20, 20}, {20, 20});

  EXPECT_FALSE(
      InputSlices<2>(letterChain<2>("BB", scene.fixed), scene.moving->geometry, scene.fixed->geometry)
          .known());
}

/// Far from the origin, here by way of a transform and back, roundings lead elsewhere than all transforms as
/// one.
TEST(InputSlices, FarFromTheOriginAreNotKnown)
{
  const ResampleScene<3> scene({20, 20, 20}, {20, 20, 20});
  const auto isKnown = [&](double shiftMm) {
    TransformChain<3> there = letterChain<3>("T", scene.fixed);
    std::fill(there.parameters.begin(), there.parameters.end(), shiftMm);
    TransformChain<3> back = letterChain<3>("T", scene.fixed);
    std::fill(back.parameters.begin(), back.parameters.end(), -shiftMm);
    back.initial = std::make_shared<const TransformChain<3>>(std::move(there));
    return InputSlices<3>(back, scene.moving->geometry, scene.fixed->geometry).known();
  };

  EXPECT_TRUE(isKnown(1e12));
  EXPECT_FALSE(isKnown(1e16));
}

}
}
