#include "Core/Image/Landmarks/DisplacementSearch.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/SelfSimilarityOnCuda.h"
#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t channels = SelfSimilarityDescriptor<3>::channels;

/// The descriptors of the cube of 2 radius + 1 voxels about `center`, x fastest.
void copyCube(const SelfSimilarityDescriptor<3>& image, const Voxel& center, int radius,
              std::vector<std::uint8_t>& cube)
{
  const int side = 2 * radius + 1;
  cube.resize(channels * static_cast<std::size_t>(side) * side * side);
  std::uint8_t* to = cube.data();
  const auto within = [&](int index, std::size_t axis) {
    return std::clamp(index, 0, static_cast<int>(image.size[axis]) - 1);
  };
  for (int z = -radius; z <= radius; ++z)
    for (int y = -radius; y <= radius; ++y)
      for (int x = -radius; x <= radius; ++x, to += channels)
        std::memcpy(to,
                    &image.values[channels
                                  * offsetOf(image.size, {within(center[0] + x, 0), within(center[1] + y, 1),
                                                          within(center[2] + z, 2)})],
                    channels);
}

/// The sum of squared differences between the patch and a part of the window, row by row.
TESSERA_MULTIVERSION int squaredDifferences(const std::uint8_t* patch, int patchSide,
                                            const std::uint8_t* window, std::size_t windowSide)
{
  const std::size_t row = channels * static_cast<std::size_t>(patchSide);
  int sum = 0;
  for (int z = 0; z < patchSide; ++z)
    for (int y = 0; y < patchSide; ++y) {
      const std::uint8_t* const other =
          window
          + channels * windowSide * (static_cast<std::size_t>(y) + windowSide * static_cast<std::size_t>(z));
      for (std::size_t i = 0; i < row; ++i) {
        const auto difference = static_cast<short>(patch[i] - other[i]);
        sum += difference * difference;
      }
      patch += row;
    }
  return sum;
}

}

std::vector<float> searchCosts(const Context& context, const SelfSimilarityDescriptor<3>& here,
                               const SelfSimilarityDescriptor<3>& there, std::span<const Voxel> keypoints,
                               std::span<const Voxel> startsThere, const DisplacementGrid& grid,
                               int patchRadius)
{
  const int side = 2 * patchRadius + 1, n = grid.perAxis();
  const auto windowSide = static_cast<std::size_t>(2 * (grid.reach + patchRadius) + 1);
  const float scale =
      1 / (255.0f * 255.0f * static_cast<float>(channels) * static_cast<float>(side * side * side));
  std::vector<float> costs(keypoints.size() * grid.count());
  forEachChunk(context, keypoints.size(), [&](std::size_t keypoint) {
    thread_local std::vector<std::uint8_t> patch, window;
    copyCube(here, keypoints[keypoint], patchRadius, patch);
    copyCube(there, startsThere[keypoint], grid.reach + patchRadius, window);
    float* out = &costs[keypoint * grid.count()];
    for (int z = 0; z < n; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
          const auto step = static_cast<std::size_t>(grid.step);
          const std::size_t place =
              step
              * (static_cast<std::size_t>(x)
                 + windowSide * (static_cast<std::size_t>(y) + windowSide * static_cast<std::size_t>(z)));
          *out++ = scale
                   * static_cast<float>(
                       squaredDifferences(patch.data(), side, &window[channels * place], windowSide));
        }
  });
  return costs;
}

DescribedImage::DescribedImage(Context& context, const ImagePointer<3>& image) : size_(image->geometry.size)
{
  if (context.onCuda())
    onCuda_ = selfSimilaritiesOnCuda<3>(context, voxelsOnCuda<3>(context, image)->span().data(), size_);
  else
    onCpu_ = SelfSimilarityDescriptor<3>(context, *image);
}

DescriptorOnCuda DescribedImage::onCuda() const
{
  DescriptorOnCuda descriptor{reinterpret_cast<const std::uint32_t*>(onCuda_.span().data()), {}};
  std::ranges::copy(size_, descriptor.size.begin());
  return descriptor;
}

std::vector<float> searchCosts(const Context& context, const DescribedImage& here,
                               const DescribedImage& there, std::span<const Voxel> keypoints,
                               std::span<const Voxel> startsThere, const DisplacementGrid& grid,
                               int patchRadius)
{
  if (!context.onCuda())
    return searchCosts(context, here.onCpu(), there.onCpu(), keypoints, startsThere, grid, patchRadius);
  constexpr std::size_t bytesAtOnce = std::size_t(256) << 20;
  std::vector<float> costs(keypoints.size() * grid.count());
  const std::size_t atOnce = std::clamp<std::size_t>(bytesAtOnce / (grid.count() * sizeof(float)), 1,
                                                     std::max<std::size_t>(keypoints.size(), 1));
  Buffer<float> found(context, atOnce * grid.count());
  for (std::size_t first = 0; first < keypoints.size(); first += atOnce) {
    const std::size_t count = std::min(atOnce, keypoints.size() - first);
    searchCostsOnCuda(context, here.onCuda(), there.onCuda(), keypoints.subspan(first, count),
                      startsThere.subspan(first, count), grid, patchRadius, found.span().data());
    copyLargeToHost(context, &costs[first * grid.count()], found.span().data(),
                    count * grid.count() * sizeof(float));
  }
  return costs;
}

void refine(LeastCost& least, int axis, int step, double costBefore, double costAfter)
{
  const double second = costBefore + costAfter - 2 * least.cost;
  if (second > 0) {
    least.displacement[static_cast<std::size_t>(axis)] += step * (costBefore - costAfter) / (2 * second);
    least.curvature[static_cast<std::size_t>(axis)] = second / (step * step);
  }
}

LeastCost leastCost(std::span<const float> costs, const DisplacementGrid& grid)
{
  const int n = grid.perAxis();
  const auto found = static_cast<int>(std::ranges::min_element(costs) - costs.begin());
  const Voxel place{found % n, found / n % n, found / n / n};
  LeastCost result{{}, {}, costs[static_cast<std::size_t>(found)]};
  for (std::size_t d = 0, stride = 1; d < 3; ++d, stride *= static_cast<std::size_t>(n)) {
    result.displacement[d] = place[d] * grid.step - grid.reach;
    if (place[d] == 0 || place[d] == n - 1)
      continue;
    refine(result, static_cast<int>(d), grid.step, costs[static_cast<std::size_t>(found) - stride],
           costs[static_cast<std::size_t>(found) + stride]);
  }
  return result;
}

}
