#pragma once

#include <cstdint>

namespace tessera {

/// c += a b on tensor cores, for numbers of half precision and sums in single: a is 16 x 16, b 16 x 8. With
/// lane = 4 r + q, a[0] holds (r, 2 q) and (r, 2 q + 1) of a, a[1] the same of row r + 8, a[2] and a[3] those
/// of column + 8; b[0] holds (2 q, r) and (2 q + 1, r) of b, b[1] those of row + 8; c[0], c[1] are (r, 2 q),
/// (r, 2 q + 1), c[2], c[3] those of row r + 8.
__device__ __forceinline__ void multiplyAddHalf(float (&c)[4], const std::uint32_t (&a)[4],
                                                const std::uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else // two of half the depth
  for (int k = 0; k < 2; ++k)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
#endif
}

}
