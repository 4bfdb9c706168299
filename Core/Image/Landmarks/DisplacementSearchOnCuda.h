#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Image/Landmarks/DisplacementSearch.h"

#include <cstdint>
#include <span>

namespace tessera {

/// searchCosts on CUDA. `costs` lies on the device, grid.count() numbers a keypoint. They are whole numbers
/// times a factor, so equal descriptors have costs with the same bits as on the CPU.
TESSERA_CUDA_ONLY void searchCostsOnCuda(const Context&, const DescriptorOnCuda& here,
                                         const DescriptorOnCuda& there, std::span<const Voxel> keypoints,
                                         std::span<const Voxel> startsThere, const DisplacementGrid&,
                                         int patchRadius, float* costs);

namespace displacementsearch {

constexpr int words = 3; // of a voxel

/// sum + the products of four pairs of bytes.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE std::uint32_t addProducts(std::uint32_t a, std::uint32_t b,
                                                                    std::uint32_t sum)
{
#ifdef __CUDA_ARCH__
  return __dp4a(a, b, sum);
#else
  for (int byte = 0; byte < 4; ++byte)
    sum += (a >> 8 * byte & 255u) * (b >> 8 * byte & 255u);
  return sum;
#endif
}

TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE int within(int index, int size)
{
  return index < 0 ? 0 : index < size ? index : size - 1;
}

/// The words of voxel number `task` of the cube of 2 radius + 1 voxels about a keypoint, x fastest.
TESSERA_HOST_DEVICE inline void loadPatchVoxel(const DescriptorOnCuda& image, const Voxel& middle, int radius,
                                               int task, std::uint32_t* patch)
{
  const int side = 2 * radius + 1;
  const int x = within(middle[0] + task % side - radius, image.size[0]),
            y = within(middle[1] + task / side % side - radius, image.size[1]),
            z = within(middle[2] + task / side / side - radius, image.size[2]);
  const std::size_t voxel = static_cast<std::size_t>(x)
                            + static_cast<std::size_t>(image.size[0])
                                  * (static_cast<std::size_t>(y)
                                     + static_cast<std::size_t>(image.size[1]) * static_cast<std::size_t>(z));
  TESSERA_UNROLL
  for (int w = 0; w < words; ++w)
    patch[words * task + w] = image.words[words * voxel + w];
}

/// The sum of squared differences between a patch and the cube about a place.
TESSERA_HOST_DEVICE inline std::uint32_t
squaredDifferences(const DescriptorOnCuda& image, const Voxel& middle, int radius, const std::uint32_t* patch)
{
  const int side = 2 * radius + 1;
  const bool isInside = middle[0] >= radius && middle[0] + radius < image.size[0];
  std::uint32_t ofBoth = 0, products = 0; // |a|^2 + |b|^2 and a b
  for (int z = -radius; z <= radius; ++z)
    for (int y = -radius; y <= radius; ++y) {
      const std::size_t row = static_cast<std::size_t>(image.size[0])
                              * (static_cast<std::size_t>(within(middle[1] + y, image.size[1]))
                                 + static_cast<std::size_t>(image.size[1])
                                       * static_cast<std::size_t>(within(middle[2] + z, image.size[2])));
      for (int x = 0; x < side; ++x, patch += words) {
        const int column = middle[0] + x - radius;
        const std::uint32_t* const there =
            image.words
            + words * (row + static_cast<std::size_t>(isInside ? column : within(column, image.size[0])));
        TESSERA_UNROLL
        for (int w = 0; w < words; ++w) {
          const std::uint32_t a = patch[w], b = there[w];
          ofBoth = addProducts(a, a, addProducts(b, b, ofBoth));
          products = addProducts(a, b, products);
        }
      }
    }
  return ofBoth - 2 * products;
}

/// The cost of displacement number `task`.
TESSERA_HOST_DEVICE inline float costOf(const DescriptorOnCuda& there, const Voxel& start,
                                        const DisplacementGrid& grid, int radius, float scale, int task,
                                        const std::uint32_t* patch)
{
  const int n = 2 * grid.reach / grid.step + 1;
  const Voxel middle{start[0] + task % n * grid.step - grid.reach,
                     start[1] + task / n % n * grid.step - grid.reach,
                     start[2] + task / n / n * grid.step - grid.reach};
  return scale * static_cast<float>(static_cast<int>(squaredDifferences(there, middle, radius, patch)));
}

}

}
