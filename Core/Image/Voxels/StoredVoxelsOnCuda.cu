#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Image/Voxels/StoredVoxels.h"

namespace tessera {
namespace {

constexpr unsigned storedThreads = 256;

/// One voxel a thread, coalesced unless components are interleaved. Traffic a voxel: reads its bytes in the
/// file, writes 4 for the float and 1 for `finite`.
template <class T>
__global__ void toFloats(StoredVoxels<T> stored, std::size_t image, std::size_t count, float* voxels,
                         std::uint8_t* finite, VoxelCounts* counts, bool others)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(storedThreads) + threadIdx.x;
  const bool isVoxel = i < count;
  if (voxels && isVoxel) {
    const float value = stored.intensity(image, i);
    voxels[i] = std::isfinite(value) ? value : 0.0f;
  }
  const bool isSure = std::is_integral_v<T> && !stored.layout.scaling.isScaled();
  const bool isNumber = isSure || !(finite || counts) || !isVoxel
                        || (stored.isFinite(i) && !(others && finite && finite[i] == 0));
  if (finite && isVoxel)
    finite[i] = isNumber;
  if (!counts)
    return;
  const int nonFinite = __syncthreads_count(!isNumber),
            inexact = __syncthreads_count(isVoxel && stored.isInexact(i));
  if (threadIdx.x != 0)
    return;
  if (nonFinite > 0)
    atomicAdd(&counts->nonFinite, static_cast<unsigned long long>(nonFinite));
  if (inexact > 0)
    atomicAdd(&counts->inexact, static_cast<unsigned long long>(inexact));
}

}

void storedToFloatsOnCuda(const Context& context, const std::byte* stored, const StoredLayout& layout,
                          std::size_t image, std::size_t count, float* voxels, std::uint8_t* finite,
                          VoxelCounts* counts, bool others)
{
  if (count == 0)
    return;
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(count, storedThreads));
  withPixelType(layout.type, [&]<class T>(std::type_identity<T>) {
    toFloats<T><<<blocks, storedThreads, 0, cudaStreamOf(context)>>>(
        StoredVoxels<T>{reinterpret_cast<const T*>(stored), layout}, image, count, voxels, finite, counts,
        others);
  });
  checkLaunch("converting voxels to floats");
}

}
