#pragma once

#include <cstdint>

namespace tessera {

/// c += a b on tensor cores, with operands of half precision and sums of single precision; a is 16 x 16, b 16
/// x 8 and c 16 x 8. The warp holds the matrices as the instruction mma.m16n8k16 wants them. With lane = 4 r
/// + q, written as (row, column):
/// a[0]: (r, 2 q), (r, 2 q + 1)   a[1]: the same of row r + 8   a[2], a[3]: those of columns + 8
/// b[0]: (2 q, r), (2 q + 1, r)   b[1]: the same of rows + 8
/// c[0], c[1]: (r, 2 q), (r, 2 q + 1)   c[2], c[3]: the same of row r + 8
/// Source: NVIDIA: PTX ISA, matrix fragments for mma.m16n8k16.
__device__ __forceinline__ void multiplyAddHalf(float (&c)[4], const std::uint32_t (&a)[4],
                                                const std::uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else // GPUs before compute capability 8.0: two instructions of half the depth
  for (int k = 0; k < 2; ++k)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

}
