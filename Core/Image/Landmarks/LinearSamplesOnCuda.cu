#include "Core/Image/Landmarks/LinearSamplesOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {
namespace {

constexpr int sampleThreads = 256;

/// Assigns the values of `Channels` numbers a voxel at a continuous index.
template <int Channels>
__device__ void linearValues(const float* voxels, const Size<3>& size, const Vec<3>& index,
                             float (&values)[Channels])
{
  std::size_t offset = 0, steps[3];
  float shares[3];
  std::size_t stride = 1;
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    const double place = fmin(fmax(index[d], 0.0), static_cast<double>(size[d] - 1));
    const auto low = static_cast<std::size_t>(place);
    offset += stride * low;
    steps[d] = low + 1 < size[d] ? stride : 0;
    shares[d] = static_cast<float>(place - static_cast<double>(low));
    stride *= size[d];
  }
#pragma unroll
  for (int channel = 0; channel < Channels; ++channel) {
    float corners[8];
#pragma unroll
    for (int c = 0; c < 8; ++c)
      corners[c] = __ldg(voxels + channel
                         + Channels
                               * (offset + (c % 2 != 0 ? steps[0] : 0) + (c / 2 % 2 != 0 ? steps[1] : 0)
                                  + (c / 4 != 0 ? steps[2] : 0)));
    int left = 4;
#pragma unroll
    for (int d = 0; d < 3; ++d, left /= 2)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        if (c < left)
          corners[c] = corners[2 * c] + shares[d] * (corners[2 * c + 1] - corners[2 * c]);
    values[channel] = corners[0];
  }
}

__global__ void __launch_bounds__(sampleThreads)
    sample(const Size<3> grid, const AffineMap<3> pointFromIndex, const DisplacementsOnCuda displacements,
           const SampledOnCuda image, float* out)
{
  const std::size_t voxel = static_cast<std::size_t>(blockIdx.x) * sampleThreads + threadIdx.x;
  const std::size_t z = voxel / grid[0] / grid[1];
  if (z >= grid[2])
    return;
  Vec<3> point =
      pointFromIndex(Vec<3>{static_cast<double>(voxel % grid[0]),
                            static_cast<double>(voxel / grid[0] % grid[1]), static_cast<double>(z)});
  if (displacements.values != nullptr) {
    float moved[3];
    linearValues(displacements.values, displacements.size, displacements.indexFromPoint(point), moved);
#pragma unroll
    for (int d = 0; d < 3; ++d)
      point[d] += moved[d];
  }
  float value[1];
  linearValues(image.voxels, image.size, image.indexFromPoint(point), value);
  out[voxel] = value[0];
}

}

void sampleLinearlyOnCuda(const Context& context, const Size<3>& grid, const AffineMap<3>& pointFromIndex,
                          const DisplacementsOnCuda& displacements, const SampledOnCuda& image, float* out)
{
  const std::size_t voxels = grid[0] * grid[1] * grid[2];
  sample<<<static_cast<unsigned>(ceilDiv(voxels, std::size_t{sampleThreads})), sampleThreads, 0,
           cudaStreamOf(context)>>>(grid, pointFromIndex, displacements, image, out);
  checkLaunch("linear samples");
}

}
