// needs: GPU
#include "Core/Image/Landmarks/StructureTensorSearch.h"

#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MovedNoise.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using namespace structuretensors;
using namespace testing;

std::vector<Voxel> places(const Size<3>& size, std::size_t count)
{
  std::vector<Voxel> found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto words = randomWords({}, static_cast<std::uint32_t>(i), 77);
    Voxel voxel;
    for (std::size_t d = 0; d < 3; ++d)
      voxel[d] = static_cast<int>(words[d] % size[d]);
    found.push_back(voxel);
  }
  return found;
}

/// The numbers of a patch, in double precision and in the plainest way.
std::vector<double> naiveDescriptor(const StructureTensorImage& image, const Voxel& middle)
{
  const auto value = [&](const Image<3>& of, int x, int y, int z) -> double {
    const Voxel asked{x, y, z};
    Voxel inside;
    for (std::size_t d = 0; d < 3; ++d)
      inside[d] = std::clamp(asked[d], 0, static_cast<int>(of.geometry.size[d]) - 1);
    return of.voxels[offsetOf(of.geometry.size, inside)];
  };
  std::vector<double> numbers;
  for (int part = 0; part < 8; ++part) {
    double matrix[7][7] = {};
    for (int z = 0; z < 5; ++z)
      for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 6; ++x) {
          // beyond the image there are border voxels, with the features that they have in the image
          Voxel at{middle[0] - 5 + part % 2 * 5 + x, middle[1] - 5 + part / 2 % 2 * 5 + y,
                   middle[2] - 4 + part / 4 * 4 + z};
          for (std::size_t d = 0; d < 3; ++d)
            at[d] = std::clamp(at[d], 0, static_cast<int>(image.size()[d]) - 1);
          const auto i = [&](int dx, int dy, int dz) {
            return value(image.smoothed(), at[0] + dx, at[1] + dy, at[2] + dz);
          };
          double v[7] = {i(0, 0, 0) - value(image.mean(), at[0], at[1], at[2]),
                         i(1, 0, 0) - 2 * i(0, 0, 0) + i(-1, 0, 0),
                         i(0, 1, 0) - 2 * i(0, 0, 0) + i(0, -1, 0),
                         i(0, 0, 1) - 2 * i(0, 0, 0) + i(0, 0, -1),
                         (i(1, 1, 0) - i(1, -1, 0) - i(-1, 1, 0) + i(-1, -1, 0)) / 4,
                         (i(1, 0, 1) - i(1, 0, -1) - i(-1, 0, 1) + i(-1, 0, -1)) / 4,
                         (i(0, 1, 1) - i(0, 1, -1) - i(0, -1, 1) + i(0, -1, -1)) / 4};
          for (int a = 1; a < 7; ++a)
            v[a] *= 6;
          for (int a = 0; a < 7; ++a)
            for (int b = 0; b < 7; ++b)
              matrix[a][b] += v[a] * v[b];
        }
    double trace = 0;
    for (int a = 0; a < 7; ++a)
      trace += matrix[a][a];
    for (int a = 0; a < 7; ++a)
      matrix[a][a] += 1e-4 / 7 * trace;
    for (int row = 0; row < 7; ++row)
      for (int column = 0; column <= row; ++column) {
        double sum = matrix[row][column];
        for (int k = 0; k < column; ++k)
          sum -= matrix[row][k] * matrix[column][k];
        matrix[row][column] = row == column ? std::sqrt(sum) : sum / matrix[column][column];
        numbers.push_back(matrix[row][column]);
      }
  }
  return numbers;
}

double squaredDistance(const std::vector<double>& a, const std::vector<double>& b)
{
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

TEST(StructureTensorSearch, DistancesAreThoseOfThePlainForm)
{
  const Size<3> size{33, 31, 29};
  Context context = threads(2);
  const StructureTensorImage fixed(context, movedNoise(size, {})),
      moving(context, movedNoise(size, {2, -1, 1}));
  const Window window{{3, 2, 1}};
  for (const Voxel& keypoint : {Voxel{16, 15, 14}, Voxel{1, 30, 4}}) {
    const std::vector<float> found = distances(fixed, moving, keypoint, keypoint, window);
    const std::vector<double> reference = naiveDescriptor(fixed, keypoint);
    ASSERT_EQ(found.size(), 7u * 5 * 3);
    double largest = 0;
    for (const float distance : found)
      largest = std::max<double>(largest, distance);
    for (int number = 0; number < 105; ++number) {
      const Voxel there{keypoint[0] + number % 7 - 3, keypoint[1] + number / 7 % 5 - 2,
                        keypoint[2] + number / 35 - 1};
      EXPECT_NEAR(found[static_cast<std::size_t>(number)],
                  squaredDistance(reference, naiveDescriptor(moving, there)), 1e-4 * largest)
          << number;
    }
  }
}

TEST(StructureTensorSearch, FindsWhatThePlainFormFinds)
{
  const Size<3> size{40, 38, 36};
  Context context = threads(2);
  const StructureTensorImage fixed(context, movedNoise(size, {})),
      moving(context, movedNoise(size, {4, -3, 2}));
  std::vector<Voxel> keypoints;
  for (const Voxel& place : places({16, 16, 16}, 12))
    keypoints.push_back({place[0] + 10, place[1] + 12, place[2] + 9});
  const Window window{{5, 4, 3}};
  const std::vector<LeastCost> found =
      searchStructureTensors(context, fixed, moving, keypoints, keypoints, window);
  for (std::size_t i = 0; i < keypoints.size(); ++i) {
    EXPECT_NEAR(found[i].displacement[0], 4, 0.3);
    EXPECT_NEAR(found[i].displacement[1], -3, 0.3);
    EXPECT_NEAR(found[i].displacement[2], 2, 0.3);
    if (i > 1)
      continue; // the plain form takes long
    const std::vector<double> reference = naiveDescriptor(fixed, keypoints[i]);
    double least = HUGE_VAL;
    Voxel best{};
    for (int z = -3; z <= 3; ++z)
      for (int y = -4; y <= 4; ++y)
        for (int x = -5; x <= 5; ++x) {
          const double distance = squaredDistance(
              reference,
              naiveDescriptor(moving, {keypoints[i][0] + x, keypoints[i][1] + y, keypoints[i][2] + z}));
          if (distance < least) {
            least = distance;
            best = {x, y, z};
          }
        }
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_EQ(std::lround(found[i].displacement[d]), best[d]);
  }
  const std::vector<LeastCost> byOneThread =
      searchStructureTensors(threads(1), fixed, moving, keypoints, keypoints, window);
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    EXPECT_EQ(found[i].displacement, byOneThread[i].displacement);
}

TEST(StructureTensorSearch, FlatImagesStayInTheMiddleAndABoxMayLeaveTheImage)
{
  auto flat = std::make_shared<Image<3>>();
  flat->geometry.size = {12, 12, 12};
  flat->voxels.assign(1728, 7);
  Context context = threads(1);
  const StructureTensorImage image(context, flat);
  const std::vector<Voxel> corner{{0, 11, 0}};
  const LeastCost found = searchStructureTensors(context, image, image, corner, corner, {{2, 3, 4}}).front();
  EXPECT_EQ(found.displacement, (Vec<3>{0, 0, 0}));
  EXPECT_EQ(found.cost, 0);

  const Size<3> size{20, 20, 20};
  const StructureTensorImage textured(context, movedNoise(size, {}));
  for (const LeastCost& itself :
       searchStructureTensors(context, textured, textured, places(size, 20), places(size, 20), {{4, 4, 4}}))
    EXPECT_EQ(itself.cost, 0);
}

TEST(StructureTensorSearch, EqualDistancesGoToTheNearestThenToTheFirst)
{
  const Window window{{2, 2, 2}};
  const Best middle = Best::of(window, 62, 1), beside = Best::of(window, 61, 1),
             behind = Best::of(window, 63, 1), less = Best::of(window, 0, 0.5f);
  EXPECT_TRUE(middle.isBetterThan(beside));
  EXPECT_FALSE(beside.isBetterThan(middle));
  EXPECT_TRUE(beside.isBetterThan(behind));
  EXPECT_FALSE(behind.isBetterThan(beside));
  EXPECT_TRUE(less.isBetterThan(middle));
  EXPECT_TRUE(behind.isBetterThan(Best{}));
}

std::vector<float> featuresOf(const StructureTensorImage& image)
{
  const Size<3>& size = image.size();
  std::vector<float> features;
  for (std::size_t z = 0; z < size[2]; ++z)
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const Voxel voxel{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        float numbers[featureCount];
        computeFeatures<float>(
            [&](int dx, int dy, int dz) {
              const Voxel step{dx, dy, dz};
              Voxel near;
              for (std::size_t d = 0; d < 3; ++d)
                near[d] = std::clamp(voxel[d] + step[d], 0, static_cast<int>(size[d]) - 1);
              return image.smoothed().voxels[offsetOf(size, near)];
            },
            image.mean().voxels[offsetOf(size, voxel)], numbers);
        features.insert(features.end(), numbers, numbers + featureCount);
        features.push_back(0);
      }
  return features;
}

/// The work of a block on CUDA, on the host.
TEST(StructureTensorSearch, ABlocksWorkHasTheBitsOfTheCpu)
{
  const Size<3> size{37, 33, 31};
  Context context = threads(2);
  const StructureTensorImage fixed(context, movedNoise(size, {})),
      moving(context, movedNoise(size, {1, 2, -1}));
  const std::vector<float> here = featuresOf(fixed), there = featuresOf(moving);
  const Window window{{4, 3, 2}};
  std::vector<float> shared(BlockMemory::numbers(window));
  const BlockMemory memory(window, shared.data());
  for (const Voxel& keypoint : {Voxel{18, 16, 15}, Voxel{2, 30, 28}}) {
    computeDistances(
        [](int count, const auto& body) {
          for (int task = count; task-- > 0;) // in another order than on CUDA
            body(task);
        },
        memory, {here.data(), size}, {there.data(), size}, keypoint, keypoint);
    const std::vector<float> onCpu = distances(fixed, moving, keypoint, keypoint, window);
    EXPECT_EQ(std::vector<float>(memory.distances, memory.distances + window.candidateCount()), onCpu);
  }
}

TEST(StructureTensorSearch, CudaFindsWhatTheCpuFinds)
{
  TESSERA_NEEDS_GPU();
  const Size<3> size{64, 60, 56};
  const ImagePointer<3> image = movedNoise(size, {}), moved = movedNoise(size, {3, -2, 4});
  const std::vector<Voxel> keypoints = places(size, 1000);
  const Window window; // 25x13x17
  std::vector<std::vector<LeastCost>> found;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda, DeviceKind::cuda}) {
    Context context = makeContext({kind, 0}, 2);
    if (context.onCuda()) {
      ASSERT_EQ(whyNoTensorSearchOnCuda(context, window, 2.0 * 64 * 60 * 56), "");
      EXPECT_NE(whyNoTensorSearchOnCuda(context, {{40, 40, 40}}, 1), "");
      EXPECT_NE(whyNoTensorSearchOnCuda(context, window, 1e12), "");
    }
    const StructureTensorImage here(context, image), there(context, moved);
    found.push_back(searchStructureTensors(context, here, there, keypoints, keypoints, window));
  }
  std::size_t different = 0, right = 0;
  for (std::size_t i = 0; i < keypoints.size(); ++i) {
    bool isEqual = true, isRight = true;
    for (std::size_t d = 0; d < 3; ++d) {
      isEqual = isEqual && std::abs(found[0][i].displacement[d] - found[1][i].displacement[d]) < 0.02;
      isRight = isRight && std::abs(found[1][i].displacement[d] - Vec<3>{3, -2, 4}[d]) < 0.5;
      EXPECT_EQ(found[1][i].displacement[d], found[2][i].displacement[d]); // repeats
    }
    different += !isEqual;
    right += isRight;
  }
  EXPECT_LE(different, 1u);
  EXPECT_GT(right, 400u); // so many lie far enough from the border
}

}
}
