#pragma once

#include "Core/Compute/Cuda.cuh"

#include <cstdint>
#include <cuda.h>

// Boxes of a volume that a multiprocessor's copy engine brings to shared memory, by one thread's word, from
// compute capability 9.0 on.
namespace tessera::resampling {

/// What the copy engine has to know of a volume and the boxes that are brought from it.
struct BoxesOfVolume {
#if CUDART_VERSION >= 12050
  CUtensorMap map;
#else
  int map;
#endif
};

constexpr int voxelsOfPiece = 4; // rows of the volume, and where boxes begin in them, are multiples of 16
                                 // bytes; boxes are one plane deep

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ unsigned inShared(const void* address)
{
  return static_cast<unsigned>(__cvta_generic_to_shared(address));
}

/// Where a block waits for boxes: a barrier in shared memory that passes when all bytes of a round have come.
struct BoxBarrier {
  std::uint64_t state;

  /// By one thread, before all threads of the block meet.
  __device__ __forceinline__ void start()
  {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(inShared(&state)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  }
  /// By one thread, once a round, before it asks for boxes.
  __device__ __forceinline__ void expect(unsigned bytes)
  {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(inShared(&state)), "r"(bytes)
                 : "memory");
  }
  /// `round`: counted from 0.
  __device__ __forceinline__ void wait(int round)
  {
    asm volatile("{\n"
                 ".reg .pred passed;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 passed, [%0], %1;\n"
                 "@!passed bra again;\n"
                 "}"
                 :
                 : "r"(inShared(&state)), "r"(round & 1)
                 : "memory");
  }
};

/// From a voxel of the volume on, which may lie outside: there zeros come. To a multiple of 128 bytes.
__device__ __forceinline__ void bringBox(unsigned toShared, const BoxesOfVolume& boxes, int x, int y, int z,
                                         BoxBarrier& barrier)
{
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
               "{%2, %3, %4}], [%5];"
               :
               : "r"(toShared), "l"(&boxes.map), "r"(x), "r"(y), "r"(z), "r"(inShared(&barrier.state))
               : "memory");
}

#endif

}
