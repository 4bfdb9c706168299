#include "Core/Image/Landmarks/DisplacementSearch.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t bytesOfStep = 16; // of descriptors that are compared together

/// Voxels of a cube, or of a square in 2D.
template <int D>
constexpr int cubeVoxels(int side)
{
  return side * side * (D == 3 ? side : 1);
}

/// The descriptors of the cube of 2 radius + 1 voxels about `center`, x fastest. A row takes `rowBytes`.
template <int D>
void copyCube(const SelfSimilarityDescriptor<D>& image, const Voxel& center, int radius, std::size_t rowBytes,
              std::vector<std::uint8_t>& cube)
{
  constexpr std::size_t channels = SelfSimilarityDescriptor<D>::channels;
  const int side = 2 * radius + 1, radiusZ = D == 3 ? radius : 0;
  Size<3> size{1, 1, 1};
  std::ranges::copy(image.size, size.begin());
  cube.assign(rowBytes * static_cast<std::size_t>(cubeVoxels<D>(side) / side) + bytesOfStep, 0);
  std::uint8_t* row = cube.data();
  const auto within = [&](int index, std::size_t axis) {
    return std::clamp(index, 0, static_cast<int>(size[axis]) - 1);
  };
  for (int z = -radiusZ; z <= radiusZ; ++z)
    for (int y = -radius; y <= radius; ++y, row += rowBytes)
      for (int x = -radius; x <= radius; ++x)
        std::memcpy(row + channels * static_cast<std::size_t>(x + radius),
                    &image.values[channels
                                  * offsetOf(size, {within(center[0] + x, 0), within(center[1] + y, 1),
                                                    within(center[2] + z, 2)})],
                    channels);
}

/// A cube whose rows begin at multiples of `rowBytes`.
struct Rows {
  const std::uint8_t* bytes;
  std::size_t rowBytes;

  const std::uint8_t* row(int y, int z, std::size_t rowsOfSlice) const
  {
    return bytes + rowBytes * (static_cast<std::size_t>(y) + rowsOfSlice * static_cast<std::size_t>(z));
  }
};

/// The sum of squared differences between the patch and a part of the window, row by row. A row has so many
/// steps of 16 bytes, of which those in `mask` count; behind them the patch has zeros.
template <int Steps>
TESSERA_ALWAYS_INLINE int differencesOf(const Rows& patch, int side, int slices, const Rows& window,
                                        std::size_t windowSide, const std::uint8_t* mask)
{
  int sum = 0;
  for (int z = 0; z < slices; ++z)
    for (int y = 0; y < side; ++y) {
      const std::uint8_t* const a = patch.row(y, z, static_cast<std::size_t>(side));
      const std::uint8_t* const b = window.row(y, z, windowSide);
      for (std::size_t i = 0; i < Steps * bytesOfStep; ++i) {
        const auto difference = static_cast<short>(a[i] - (b[i] & mask[i]));
        sum += difference * difference;
      }
    }
  return sum;
}

TESSERA_MULTIVERSION int squaredDifferences(const Rows& patch, int side, int slices, const Rows& window,
                                            std::size_t windowSide, const std::uint8_t* mask)
{
  switch (patch.rowBytes / bytesOfStep) {
  case 4: // 15 voxels of 2D
    return differencesOf<4>(patch, side, slices, window, windowSide, mask);
  case 6: // 7 voxels of 3D
    return differencesOf<6>(patch, side, slices, window, windowSide, mask);
  default:
    break;
  }
  int sum = 0;
  for (std::size_t step = 0; step < patch.rowBytes; step += bytesOfStep)
    sum += differencesOf<1>({patch.bytes + step, patch.rowBytes}, side, slices,
                            {window.bytes + step, window.rowBytes}, windowSide, mask + step);
  return sum;
}

}

template <int D>
std::vector<float> searchCosts(const Context& context, const SelfSimilarityDescriptor<D>& here,
                               const SelfSimilarityDescriptor<D>& there, std::span<const Voxel> keypoints,
                               std::span<const Voxel> startsThere, const DisplacementGrid& grid,
                               int patchRadius)
{
  constexpr std::size_t channels = SelfSimilarityDescriptor<D>::channels;
  const int side = 2 * patchRadius + 1, n = grid.perAxis();
  const auto windowSide = static_cast<std::size_t>(2 * (grid.reach + patchRadius) + 1);
  const float scale =
      1 / (255.0f * 255.0f * static_cast<float>(channels) * static_cast<float>(cubeVoxels<D>(side)));
  const std::size_t patchRow = channels * static_cast<std::size_t>(side), windowRow = channels * windowSide,
                    paddedRow = (patchRow + bytesOfStep - 1) / bytesOfStep * bytesOfStep;
  std::vector<std::uint8_t> mask(paddedRow, 0);
  std::fill_n(mask.begin(), patchRow, 255);
  std::vector<float> costs(keypoints.size() * grid.count());
  forEachChunk(context, keypoints.size(), [&](std::size_t keypoint) {
    thread_local std::vector<std::uint8_t> patch, window;
    copyCube(here, keypoints[keypoint], patchRadius, paddedRow, patch);
    copyCube(there, startsThere[keypoint], grid.reach + patchRadius, windowRow, window);
    float* out = &costs[keypoint * grid.count()];
    for (int z = 0; z < (D == 3 ? n : 1); ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0; x < n; ++x) {
          const auto step = static_cast<std::size_t>(grid.step);
          const std::size_t place =
              step
              * (static_cast<std::size_t>(x)
                 + windowSide * (static_cast<std::size_t>(y) + windowSide * static_cast<std::size_t>(z)));
          *out++ = scale
                   * static_cast<float>(squaredDifferences({patch.data(), paddedRow}, side, D == 3 ? side : 1,
                                                           {&window[channels * place], windowRow}, windowSide,
                                                           mask.data()));
        }
  });
  return costs;
}

template <int D>
DescribedImage<D>::DescribedImage(Context& context, const ImagePointer<D>& image)
    : size_(image->geometry.size)
{
  if (D == 3 && context.onCuda())
    onCuda_ = selfSimilaritiesOnCuda<D>(context, voxelsOnCuda<D>(context, image)->span().data(), size_);
  else
    onCpu_ = SelfSimilarityDescriptor<D>(context, *image);
}

template <int D>
DescriptorOnCuda DescribedImage<D>::onCuda() const
{
  DescriptorOnCuda descriptor{reinterpret_cast<const std::uint32_t*>(onCuda_.span().data()), {}};
  std::ranges::copy(size_, descriptor.size.begin());
  return descriptor;
}

template <int D>
std::vector<float> searchCosts(const Context& context, const DescribedImage<D>& here,
                               const DescribedImage<D>& there, std::span<const Voxel> keypoints,
                               std::span<const Voxel> startsThere, const DisplacementGrid& grid,
                               int patchRadius)
{
  if (D == 2 || !context.onCuda())
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
  const auto axes = static_cast<std::size_t>(grid.axes);
  LeastCost result{{}, {}, costs[static_cast<std::size_t>(found)]};
  for (std::size_t d = 0, stride = 1; d < axes; ++d, stride *= static_cast<std::size_t>(n)) {
    result.displacement[d] = place[d] * grid.step - grid.reach;
    if (place[d] == 0 || place[d] == n - 1)
      continue;
    refine(result, static_cast<int>(d), grid.step, costs[static_cast<std::size_t>(found) - stride],
           costs[static_cast<std::size_t>(found) + stride]);
  }
  return result;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template class DescribedImage<D>;                                                                          \
  template std::vector<float> searchCosts(const Context&, const SelfSimilarityDescriptor<D>&,                \
                                          const SelfSimilarityDescriptor<D>&, std::span<const Voxel>,        \
                                          std::span<const Voxel>, const DisplacementGrid&, int);             \
  template std::vector<float> searchCosts(const Context&, const DescribedImage<D>&,                          \
                                          const DescribedImage<D>&, std::span<const Voxel>,                  \
                                          std::span<const Voxel>, const DisplacementGrid&, int);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
