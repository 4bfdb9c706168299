#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <cub/device/device_reduce.cuh>

namespace tessera {
namespace {

struct OfVoxel {
  __device__ VoxelExtremes operator()(float value) const
  {
    VoxelExtremes found;
    found.takeBelow(value);
    found.takeAbove(value);
    found.nonFinite = !std::isfinite(value);
    return found;
  }
};

struct OfBoth {
  __device__ VoxelExtremes operator()(VoxelExtremes one, const VoxelExtremes& other) const
  {
    one.merge(other);
    return one;
  }
};

}

VoxelExtremes findExtremesOnCuda(const Context& context, std::span<const float> voxels)
{
  Buffer<VoxelExtremes> found(context, 1);
  std::size_t bytes = 0;
  const auto reduce = [&](void* temporary) {
    checkCuda(cub::DeviceReduce::TransformReduce(temporary, bytes, voxels.data(), found.span().data(),
                                                 voxels.size(), OfBoth{}, OfVoxel{}, VoxelExtremes{},
                                                 cudaStreamOf(context)),
              "finding the extremes of voxels");
  };
  reduce(nullptr); // asks for the bytes
  Buffer<std::byte> temporary(context, bytes);
  reduce(temporary.span().data());
  return found.toHost(context).front();
}

void waitForDefaultStream(const Context& context)
{
  cudaStreamOf(context); // makes the context's device the current one
  checkCuda(cudaStreamSynchronize(cudaStreamLegacy), "waiting for the device");
}

}
