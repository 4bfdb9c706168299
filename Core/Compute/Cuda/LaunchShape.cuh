#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.h"

namespace tessera {

/// How a kernel is launched, with what the driver says about its registers and its active blocks.
template <class Kernel>
LaunchShape shapeOf(Kernel kernel, double blocks, int threads, std::size_t sharedBytes = 0)
{
  constexpr std::size_t withoutAsking = 48 << 10;
  if (sharedBytes > withoutAsking)
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(sharedBytes)),
              "asking for shared memory");
  cudaFuncAttributes attributes;
  checkCuda(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's registers");
  LaunchShape shape{blocks,
                    threads,
                    attributes.numRegs,
                    static_cast<double>(sharedBytes + attributes.sharedSizeBytes),
                    0,
                    static_cast<int>(attributes.localSizeBytes)};
  checkCuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&shape.blocksAMultiprocessor, kernel, threads,
                                                          sharedBytes),
            "asking for a kernel's active blocks");
  return shape;
}

/// Leaves a launch where it is asked for.
template <class Kernel>
void tellLaunch(Kernel kernel, dim3 blocks, dim3 threads, std::size_t sharedBytes = 0)
{
  if (launchListener != nullptr)
    *launchListener = shapeOf(kernel, 1.0 * blocks.x * blocks.y * blocks.z,
                              static_cast<int>(threads.x * threads.y * threads.z), sharedBytes);
}

}
