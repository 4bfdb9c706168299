// needs: GPU
#include "Core/Compute/Math/Random.h"
#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"
#include "Core/Image/Landmarks/Keypoints.h"
#include "Core/Image/Landmarks/LinearSamplesOnCuda.h"
#include "Core/Image/Landmarks/TreeRegularization.h"
#include "Core/Image/Landmarks/TreeRegularizationOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MovedNoise.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using namespace testing;

/// Numbers that a descriptor may have.
SelfSimilarityDescriptor<3> randomDescriptor(const Size<3>& size, std::uint32_t seed)
{
  SelfSimilarityDescriptor<3> descriptor;
  descriptor.size = size;
  descriptor.values.resize(12 * size[0] * size[1] * size[2]);
  for (std::size_t i = 0; i < descriptor.values.size(); ++i)
    descriptor.values[i] = static_cast<std::uint8_t>(randomWords({}, static_cast<std::uint32_t>(i), seed)[0]);
  return descriptor;
}

DescriptorOnCuda wordsOf(const std::uint8_t* values, const Size<3>& size)
{
  DescriptorOnCuda descriptor{reinterpret_cast<const std::uint32_t*>(values), {}};
  std::ranges::copy(size, descriptor.size.begin());
  return descriptor;
}

const std::vector<Voxel> places{{9, 8, 7}, {0, 15, 3}, {17, 1, 13}};

TEST(LandmarkTrackingTasks, ATasksCostHasTheBitsOfTheCpu)
{
  const Size<3> size{18, 16, 14};
  const SelfSimilarityDescriptor<3> here = randomDescriptor(size, 1), there = randomDescriptor(size, 2);
  const DisplacementGrid grid{6, 2};
  Context context;
  const std::vector<float> expected = searchCosts(context, here, there, places, places, grid, 2);
  const float scale = 1 / (255.0f * 255.0f * 12.0f * 125.0f);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::vector<std::uint32_t> patch(3 * 125);
    for (int task = 0; task < 125; ++task)
      displacementsearch::loadPatchVoxel(wordsOf(here.values.data(), size), places[i], 2, task, patch.data());
    for (int task = 0; task < static_cast<int>(grid.count()); ++task)
      EXPECT_EQ(displacementsearch::costOf(wordsOf(there.values.data(), size), places[i], grid, 2, scale,
                                           task, patch.data()),
                expected[i * grid.count() + static_cast<std::size_t>(task)]);
  }
}

/// The value at a continuous index, from the eight voxels about it.
double valueAt(const std::vector<float>& voxels, const Size<3>& size, std::size_t channel,
               std::size_t channels, const Vec<3>& index)
{
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    double weight = 1;
    Voxel voxel;
    for (std::size_t d = 0; d < 3; ++d) {
      const double place = std::clamp(index[d], 0.0, static_cast<double>(size[d] - 1));
      const bool isHigh = (corner >> d & 1) != 0;
      voxel[d] = std::min(static_cast<int>(place) + isHigh, static_cast<int>(size[d]) - 1);
      weight *= isHigh ? place - std::floor(place) : 1 - place + std::floor(place);
    }
    sum += weight * voxels[channels * offsetOf(size, voxel) + channel];
  }
  return sum;
}

using LandmarkTrackingOnCuda = testing::GpuTest;

TEST_F(LandmarkTrackingOnCuda, ImagesAreSampledThroughDisplacements)
{
  const Size<3> grid{13, 11, 9}, size{12, 10, 14}, lattice{5, 4, 3};
  const auto random = [](std::size_t count, std::uint32_t seed, float range) {
    std::vector<float> values;
    for (std::uint32_t i = 0; i < count; ++i)
      values.push_back(range * static_cast<float>(randomWords({}, i, seed)[0] % 1000) / 1000 - range / 2);
    return values;
  };
  const std::vector<float> voxels = random(12 * 10 * 14, 1, 1000), moves = random(3 * 5 * 4 * 3, 2, 5);
  const AffineMap<3> pointFromIndex{{{{1.1, 0.1, 0}, {-0.1, 0.9, 0}, {0, 0, 1.5}}}, {-2, 1, 3}},
      latticeIndex{{{{0.3, 0, 0}, {0, 0.3, 0.02}, {0, 0, 0.2}}}, {0.5, -0.1, -0.4}},
      imageIndex{{{{0.8, 0, 0.1}, {0, 0.9, 0}, {0, 0, 0.8}}}, {1, -1, 0.3}};
  Buffer<float> image, displacements, out(cuda, 13 * 11 * 9);
  image.fromHost(cuda, voxels);
  displacements.fromHost(cuda, moves);
  for (const bool isMoved : {false, true}) {
    sampleLinearlyOnCuda(cuda, grid, pointFromIndex,
                         {isMoved ? displacements.span().data() : nullptr, lattice, latticeIndex},
                         {image.span().data(), size, imageIndex}, out.span().data());
    const std::vector<float> found = out.toHost(cuda);
    for (std::size_t v = 0; v < found.size(); ++v) {
      Vec<3> point = pointFromIndex(Vec<3>{static_cast<double>(v % 13), static_cast<double>(v / 13 % 11),
                                           static_cast<double>(v / 143)});
      const Vec<3> place = latticeIndex(point);
      for (std::size_t d = 0; d < 3 && isMoved; ++d)
        point[d] += valueAt(moves, lattice, d, 3, place);
      EXPECT_NEAR(found[v], valueAt(voxels, size, 0, 1, imageIndex(point)), 2e-3);
    }
  }
}

TEST_F(LandmarkTrackingOnCuda, CostsHaveTheBitsOfTheCpu)
{
  const Size<3> size{18, 16, 14};
  const SelfSimilarityDescriptor<3> here = randomDescriptor(size, 1), there = randomDescriptor(size, 2);
  Context cpu;
  Buffer<std::uint8_t> a, b;
  a.fromHost(cuda, here.values);
  b.fromHost(cuda, there.values);
  for (const DisplacementGrid grid :
       {DisplacementGrid{8, 1}, DisplacementGrid{16, 2}, DisplacementGrid{3, 1}}) {
    Buffer<float> costs(cuda, places.size() * grid.count());
    searchCostsOnCuda(cuda, wordsOf(a.span().data(), size), wordsOf(b.span().data(), size), places, places,
                      grid, 3, costs.span().data());
    const std::vector<float> found = costs.toHost(cuda);
    EXPECT_EQ(found, searchCosts(cpu, here, there, places, places, grid, 3));
  }
}

/// Random costs of keypoints, and a tree that branches.
struct TreeScene {
  DisplacementGrid grid{5, 1};
  std::size_t keypoints = 60;
  std::vector<float> costs;
  Tree tree;

  TreeScene()
  {
    std::vector<Vec<3>> points;
    for (std::uint32_t i = 0; i < keypoints; ++i) {
      const auto words = randomWords({}, i, 8);
      points.push_back({static_cast<double>(words[0] % 40), static_cast<double>(words[1] % 40),
                        static_cast<double>(words[2] % 40)});
    }
    tree = minimumSpanningTree(points, std::vector<double>(keypoints));
    for (std::uint32_t i = 0; i < keypoints * grid.count(); ++i)
      costs.push_back(static_cast<float>(randomWords({}, i, 9)[0] % 10000) / 10000);
  }
};

TEST_F(LandmarkTrackingOnCuda, TheTreeHasTheBitsOfTheCpu)
{
  const TreeScene scene;
  Context cpu;
  std::vector<float> expected = scene.costs;
  for (float& cost : expected)
    cost *= 10;
  regularizeOnTree(cpu, scene.tree, scene.grid, expected);
  Buffer<float> costs, messages(cuda, scene.costs.size());
  costs.fromHost(cuda, scene.costs);
  regularizeOnTreeByCuda(cuda, scene.tree, scene.grid, 10, costs.span().data(), messages.span().data());
  EXPECT_EQ(costs.toHost(cuda), expected);
  Buffer<LeastOfGrid> least(cuda, scene.keypoints);
  leastCostsOnCuda(cuda, costs.span().data(), scene.keypoints, scene.grid, least.span().data());
  const std::vector<LeastOfGrid> found = least.toHost(cuda);
  const std::size_t count = scene.grid.count();
  for (std::size_t i = 0; i < scene.keypoints; ++i) {
    const float* const own = &expected[i * count];
    const auto number = static_cast<int>(std::min_element(own, own + count) - own);
    EXPECT_EQ(found[i].number, number);
    EXPECT_EQ(found[i].cost, own[number]);
    EXPECT_EQ(found[i].before[1], own[number / 11 % 11 > 0 ? number - 11 : number]);
    EXPECT_EQ(found[i].after[2], own[number / 121 < 10 ? number + 121 : number]);
  }
}

TEST(LandmarkTrackingTasks, ATasksMessageIsTheLeastTotalAlongAnAxis)
{
  const TreeScene scene;
  for (const int stride : {1, 11, 121})
    for (int number = 0; number < 1331; number += 7) {
      const int i = number / stride % 11;
      float least = HUGE_VALF;
      for (int j = 0; j < 11; ++j)
        least = std::min(least, scene.costs[static_cast<std::size_t>(number + (j - i) * stride)]
                                    + 0.5f * static_cast<float>((i - j) * (i - j)));
      EXPECT_EQ(treeregularization::spreadAlong(scene.costs.data(), 11, stride, 0.5f, number), least);
    }
}

TEST_F(LandmarkTrackingOnCuda, KeypointsAndShiftsAreThoseOfTheCpu)
{
  const Size<3> size{70, 64, 60};
  const ImagePointer<3> image = movedNoise(size, {}), moved = movedNoise(size, {3, -2, 4});
  const std::vector<std::uint8_t> mask(image->voxels.size(), 1);
  std::vector<std::vector<Voxel>> keypoints;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    Context context = makeContext({kind, 0}, 2);
    keypoints.push_back(FoerstnerKeypoints(context, image, mask).inCubes(context, 6));
    std::vector<Voxel> inner;
    for (const Voxel& voxel : keypoints.back())
      if (std::ranges::all_of(voxel, [](int i) { return i > 15 && i < 45; }))
        inner.push_back(voxel);
    ASSERT_GT(inner.size(), 20u);
    const DescribedImage<3> here(context, image), there(context, moved);
    std::vector<Vec<3>> points;
    for (const Voxel& voxel : inner)
      points.push_back(
          {static_cast<double>(voxel[0]), static_cast<double>(voxel[1]), static_cast<double>(voxel[2])});
    const Tree tree = minimumSpanningTree(points, std::vector<double>(points.size()));
    for (const LeastCost& found :
         searchOnTree(context, here, there, inner, inner, tree, DisplacementGrid{8, 1}, 3, 10)) {
      EXPECT_NEAR(found.displacement[0], 3, 0.5);
      EXPECT_NEAR(found.displacement[1], -2, 0.5);
      EXPECT_NEAR(found.displacement[2], 4, 0.5);
    }
  }
  std::size_t common = 0;
  for (const Voxel& voxel : keypoints[1])
    common += static_cast<std::size_t>(std::ranges::count(keypoints[0], voxel));
  EXPECT_GE(common + 2, keypoints[0].size()); // rounding may decide between two voxels
  EXPECT_GE(common + 2, keypoints[1].size());
}

}
}
