#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Core/Image/Landmarks/DisplacementSearch.h"
#include "Core/Image/Landmarks/Keypoints.h"
#include "Core/Image/Landmarks/NeighbourAgreement.h"
#include "Core/Image/Landmarks/TreeRegularization.h"

#include "Testing/Support/Checks/TransformChecks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using checks::randomVector;
using testing::threads;

Image<3> imageOf(const Size<3>& size, auto&& value)
{
  Image<3> image;
  image.geometry.size = size;
  image.geometry.spacingMm = {1, 1, 1};
  for (std::size_t z = 0; z < size[2]; ++z)
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x)
        image.voxels.push_back(static_cast<float>(
            value(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z))));
  return image;
}

/// A texture without repeats, moved by `shift` voxels.
Image<3> texture(const Size<3>& size, const Voxel& shift)
{
  return imageOf(size, [&](double x, double y, double z) {
    x -= shift[0];
    y -= shift[1];
    z -= shift[2];
    return 100 * std::sin(0.9 * x + 0.03 * y * z) + 80 * std::sin(0.8 * y + 0.05 * z * x / 3)
           + 60 * std::cos(1.1 * z + 0.02 * x * y);
  });
}

std::vector<Voxel> foerstnerKeypoints(Context& context, const Image<3>& image,
                                      std::span<const std::uint8_t> mask, int cubeVoxels)
{
  return FoerstnerKeypoints(context, ImagePointer<3>(std::make_shared<Image<3>>(image)), mask)
      .inCubes(context, cubeVoxels);
}

TEST(LandmarkTracking, KeypointsLieWhereTheImageHasStructureAlongAllAxes)
{
  const std::vector<Voxel> centers{{8, 9, 7}, {18, 8, 10}, {8, 22, 18}, {18, 23, 9}};
  const Image<3> image = imageOf({32, 30, 26}, [&](double x, double y, double z) {
    double sum = x > 28 ? 100 : 0; // a plane, whose points look alike
    for (const Voxel& c : centers)
      sum +=
          50 * std::exp(-((x - c[0]) * (x - c[0]) + (y - c[1]) * (y - c[1]) + (z - c[2]) * (z - c[2])) / 6);
    return sum;
  });
  std::vector<std::uint8_t> mask(image.voxels.size(), 1);
  Context context = threads(2);
  const std::vector<Voxel> found = foerstnerKeypoints(context, image, mask, 6);
  for (const Voxel& c : centers)
    EXPECT_EQ(std::ranges::count_if(found,
                                    [&](const Voxel& v) {
                                      return std::abs(v[0] - c[0]) < 2 && std::abs(v[1] - c[1]) < 2
                                             && std::abs(v[2] - c[2]) < 2;
                                    }),
              1);
  EXPECT_EQ(found.size(), centers.size());

  for (std::size_t v = 0; v < mask.size(); ++v) // two centres lie at its border
    mask[v] = v % 32 > 8;
  const std::vector<Voxel> inMask = foerstnerKeypoints(context, image, mask, 6);
  EXPECT_EQ(std::ranges::count(inMask, found.front()), 0);
  EXPECT_EQ(inMask.size(), 2u);
  EXPECT_TRUE(foerstnerKeypoints(context, imageOf({9, 9, 9}, [](double, double, double) { return 5; }),
                                 std::vector<std::uint8_t>(729, 1), 6)
                  .empty());
}

TEST(LandmarkTracking, DescriptorsDoNotSeeBrightnessAndContrast)
{
  const Image<3> image = texture({16, 15, 14}, {});
  Image<3> other = image;
  for (float& value : other.voxels)
    value = 1000 - 3 * value;
  Context context = threads(2);
  const SelfSimilarityDescriptor<3> a(context, image), b(context, other);
  int largest = 0, spread = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::abs(a.values[i] - b.values[i]));
    spread = std::max(spread, 255 - a.values[i]);
  }
  EXPECT_LE(largest, 1);
  EXPECT_GT(spread, 200);
  EXPECT_EQ(SelfSimilarityDescriptor<3>(context, imageOf({5, 5, 5}, [](double, double, double) { return 7; }))
                .values,
            std::vector<std::uint8_t>(125 * 12, 255));
}

/// searchCosts, voxel by voxel.
float naiveCost(const SelfSimilarityDescriptor<3>& here, const SelfSimilarityDescriptor<3>& there,
                const Voxel& at, const Voxel& to, int radius)
{
  double sum = 0;
  for (int z = -radius; z <= radius; ++z)
    for (int y = -radius; y <= radius; ++y)
      for (int x = -radius; x <= radius; ++x) {
        const auto value = [&](const SelfSimilarityDescriptor<3>& image, const Voxel& v, std::size_t k) {
          const Voxel step{x, y, z};
          Voxel inside;
          for (std::size_t d = 0; d < 3; ++d)
            inside[d] = std::clamp(v[d] + step[d], 0, static_cast<int>(image.size[d]) - 1);
          return image.values[12 * offsetOf(image.size, inside) + k] / 255.0;
        };
        for (std::size_t k = 0; k < 12; ++k)
          sum += std::pow(value(here, at, k) - value(there, to, k), 2);
      }
  return static_cast<float>(sum / (12 * std::pow(2 * radius + 1, 3)));
}

TEST(LandmarkTracking, TheSearchFindsAShiftAndComputesMeanSquares)
{
  Context context = threads(2);
  const Size<3> size{30, 28, 26};
  const SelfSimilarityDescriptor<3> fixed(context, texture(size, {})),
      moving(context, texture(size, {3, -2, 1}));
  const std::vector<Voxel> keypoints{{14, 14, 13}, {16, 12, 12}, {2, 26, 25}};
  const DisplacementGrid grid{4, 1};
  const std::vector<float> costs = searchCosts(context, fixed, moving, keypoints, keypoints, grid, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const LeastCost found = leastCost(std::span(costs).subspan(i * grid.count(), grid.count()), grid);
    EXPECT_NEAR(found.displacement[0], 3, 0.1);
    EXPECT_NEAR(found.displacement[1], -2, 0.1);
    EXPECT_NEAR(found.displacement[2], 1, 0.1);
    EXPECT_GT(found.curvature[0], 0);
  }
  for (std::size_t i = 0; i < 3; ++i)
    for (const std::size_t d : {0u, 100u, 728u}) {
      const int number = static_cast<int>(d);
      const Voxel to{keypoints[i][0] + number % 9 - 4, keypoints[i][1] + number / 9 % 9 - 4,
                     keypoints[i][2] + number / 81 - 4};
      EXPECT_NEAR(costs[i * grid.count() + d], naiveCost(fixed, moving, keypoints[i], to, 2), 1e-6);
    }
  EXPECT_EQ(searchCosts(threads(1), fixed, moving, keypoints, keypoints, grid, 2), costs);
}

TEST(LandmarkTracking, LeastCostsAreRefinedByAParabola)
{
  const DisplacementGrid grid{4, 2};
  std::vector<float> costs;
  for (int z = -4; z <= 4; z += 2)
    for (int y = -4; y <= 4; y += 2)
      for (int x = -4; x <= 4; x += 2)
        costs.push_back(static_cast<float>((x - 0.5) * (x - 0.5) + 2 * (y + 1.5) * (y + 1.5) - z));
  const LeastCost found = leastCost(costs, grid);
  EXPECT_NEAR(found.displacement[0], 0.5, 1e-5);
  EXPECT_NEAR(found.displacement[1], -1.5, 1e-5);
  EXPECT_EQ(found.displacement[2], 4) << "at the edge there is no parabola";
  EXPECT_NEAR(found.curvature[0], 2, 1e-4);
  EXPECT_EQ(found.curvature[2], 0);
}

TEST(LandmarkTracking, TheTreeIsTheShortest)
{
  const std::vector<Vec<3>> points{{0, 0, 0}, {10, 0, 0}, {1, 1, 0}, {11, 1, 0}, {5, 0, 0}};
  const Tree tree = minimumSpanningTree(points, std::vector<double>{0, 0, 0, 0, 30});
  double sum = 0;
  for (std::size_t i = 1; i < points.size(); ++i)
    sum += tree.length[i];
  // 0-2, 2-1, 1-3, and 4, whose value differs by 30, to the nearest
  EXPECT_NEAR(sum, std::sqrt(2.0) + std::hypot(9, 1) + std::sqrt(2.0) + std::hypot(4, 1) + 30, 1e-12);
  EXPECT_EQ(tree.order.front(), 0u);
}

/// The sum of the lengths of the shortest tree by Prim's algorithm.
double shortestSum(const std::vector<Vec<3>>& points, const std::vector<double>& values)
{
  std::vector<double> length(points.size(), std::numeric_limits<double>::infinity());
  std::vector<bool> isIn(points.size());
  double sum = 0;
  for (std::size_t node = 0, left = points.size(); left > 0; --left) {
    isIn[node] = true;
    sum += left < points.size() ? length[node] : 0;
    std::size_t next = points.size();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (isIn[i])
        continue;
      const double distance = std::hypot(points[i][0] - points[node][0], points[i][1] - points[node][1],
                                         points[i][2] - points[node][2]);
      length[i] = std::min(length[i], std::max(0.1, distance + std::abs(values[i] - values[node])));
      if (next == points.size() || length[i] < length[next])
        next = i;
    }
    node = next;
  }
  return sum;
}

TEST(LandmarkTracking, TheTreeOfManyPointsIsTheShortest)
{
  // two far groups, and places that occur several times
  const std::size_t n = 700;
  const std::vector<double> at = randomVector(3 * n, 5, 0, 20), value = randomVector(n, 6, 0, 4);
  std::vector<Vec<3>> points;
  for (std::size_t i = 0; i < n; ++i)
    points.push_back({at[3 * i] + (i % 2 == 0 ? 0.0 : 500.0), at[3 * i + 1], at[3 * i + 2]});
  for (std::size_t i = 0; i < 40; ++i)
    points[i] = points[i % 2];
  std::vector<double> equal = value;
  std::fill_n(equal.begin(), 40, 1.0);
  const Tree tree = minimumSpanningTree(points, equal);
  double sum = 0;
  std::vector<bool> isSeen(n);
  ASSERT_EQ(tree.order.size(), n);
  for (const std::size_t node : tree.order) {
    EXPECT_TRUE(node == 0 || isSeen[tree.parent[node]]);
    isSeen[node] = true;
    sum += node == 0 ? 0 : tree.length[node];
  }
  EXPECT_NEAR(sum, shortestSum(points, equal), 1e-9 * sum);
  EXPECT_EQ(minimumSpanningTree({{Vec<3>{1, 2, 3}}}, {{0.0}}).order, std::vector<std::size_t>{0});
}

TEST(LandmarkTracking, KeypointsOf2DImagesAreFoundAgain)
{
  Image<2> noise;
  noise.geometry.size = {80, 70};
  noise.geometry.spacingMm = {1, 1};
  for (const double value : randomVector(80 * 70, 9, 0, 1000))
    noise.voxels.push_back(static_cast<float>(value));
  Context context = threads(2);
  noise = smoothRecursively<2>(context, noise, {1.5, 1.5});
  const auto imageAt = [&](int shiftX, int shiftY) { // a part of the noise
    Image<2> image;
    image.geometry = noise.geometry;
    image.geometry.size = {60, 50};
    for (int y = 10 - shiftY; y < 60 - shiftY; ++y)
      for (int x = 10 - shiftX; x < 70 - shiftX; ++x)
        image.voxels.push_back(noise.voxels[static_cast<std::size_t>(x + 80 * y)]);
    return ImagePointer<2>(std::make_shared<Image<2>>(std::move(image)));
  };
  const ImagePointer<2> fixed = imageAt(0, 0);
  const std::vector<std::uint8_t> mask(60 * 50, 1);
  std::vector<Voxel> keypoints;
  for (const Voxel& voxel : FoerstnerKeypoints(context, fixed, mask).inCubes(context, 3))
    if (voxel[0] > 15 && voxel[0] < 45 && voxel[1] > 15 && voxel[1] < 35)
      keypoints.push_back(voxel);
  ASSERT_GT(keypoints.size(), 5u);
  EXPECT_TRUE(std::ranges::all_of(keypoints, [](const Voxel& voxel) { return voxel[2] == 0; }));
  const DescribedImage<2> here(context, fixed), there(context, imageAt(5, -3));
  const DisplacementGrid grid{8, 1, 2};
  EXPECT_EQ(grid.count(), 17u * 17u);
  std::vector<Vec<3>> points;
  for (const Voxel& voxel : keypoints)
    points.push_back({double(voxel[0]), double(voxel[1]), 0});
  const Tree tree = minimumSpanningTree(points, std::vector<double>(points.size()));
  for (const LeastCost& found :
       searchOnTree<2>(context, here, there, keypoints, keypoints, tree, grid, 7, 10)) {
    EXPECT_NEAR(found.displacement[0], 5, 0.3);
    EXPECT_NEAR(found.displacement[1], -3, 0.3);
    EXPECT_EQ(found.displacement[2], 0);
  }
}

TEST(LandmarkTracking, CostsOnATreeAreTheLeastTotals)
{
  const Tree tree{{0, 0, 1, 1}, {0, 2, 0.5, 7}, {0, 1, 2, 3}};
  const DisplacementGrid grid{2, 2}; // 27 displacements
  const std::vector<double> random = randomVector(4 * 27, 3, 0, 5);
  std::vector<float> costs(random.begin(), random.end());
  std::vector<double> least(4 * 27, std::numeric_limits<double>::infinity());
  const auto penalty = [&](int a, int b, double length) {
    const int x = a % 3 - b % 3, y = a / 3 % 3 - b / 3 % 3, z = a / 9 - b / 9;
    return 4 * (x * x + y * y + z * z) / length;
  };
  for (int a = 0; a < 27; ++a)
    for (int b = 0; b < 27; ++b)
      for (int c = 0; c < 27; ++c)
        for (int d = 0; d < 27; ++d) {
          const double total = costs[a] + costs[27 + b] + costs[54 + c] + costs[81 + d] + penalty(a, b, 2)
                               + penalty(b, c, 0.5) + penalty(b, d, 7);
          for (const int place : {a, 27 + b, 54 + c, 81 + d})
            least[place] = std::min(least[place], total);
        }
  std::vector<float> alone = costs;
  regularizeOnTree(threads(2), tree, grid, costs);
  const double all = *std::ranges::min_element(least);
  for (std::size_t i = 0; i < costs.size(); ++i)
    EXPECT_NEAR(costs[i], least[i] - all, 1e-5);
  regularizeOnTree(threads(1), tree, grid, alone);
  EXPECT_EQ(alone, costs);
}

TEST(LandmarkTracking, PlantedOutliersAreDropped)
{
  const std::size_t n = 1000;
  const std::vector<double> at = randomVector(3 * n, 1, 0, 250), noise = randomVector(3 * n, 2, -1, 1),
                            wrong = randomVector(4 * n, 3);
  std::vector<Vec<3>> points, displacements;
  std::vector<bool> isWrong;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec<3> p{at[3 * i], at[3 * i + 1], at[3 * i + 2]};
    points.push_back(p);
    displacements.push_back({2 * std::sin(p[1] / 50) + noise[3 * i], 4 + 0.02 * p[0] + noise[3 * i + 1],
                             15 / (1 + std::exp((p[2] - 125) / 30)) + noise[3 * i + 2]});
    isWrong.push_back(wrong[4 * i] < -0.6); // 20 %
    if (isWrong.back())
      for (std::size_t d = 0; d < 3; ++d)
        displacements.back()[d] += 25 * wrong[4 * i + 1 + d];
  }
  const std::vector<bool> agrees = agreesWithNeighbours(threads(2), points, displacements, 3);
  double planted = 0, caught = 0, good = 0, lost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    planted += isWrong[i];
    caught += isWrong[i] && !agrees[i];
    good += !isWrong[i];
    lost += !isWrong[i] && !agrees[i];
  }
  EXPECT_GT(planted, 150);
  EXPECT_GE(caught, 0.95 * planted);
  EXPECT_LE(lost, 0.05 * good);
}

}
}
