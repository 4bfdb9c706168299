#pragma once

#include "Core/Sparse/TSparse/TSparseTasks.h"

#include <cstdint>

#include <cuda_fp16.h>

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

/// Two pairs of tiles in the registers of a warp, in half precision. With lane = 4 r + q: a holds elements
/// (r, 2 q) and (r, 2 q + 1) of A's tiles, b holds (2 q, r) and (2 q + 1, r) of B's tiles.
struct TileOperands {
  std::uint32_t a[2], b[2];
};

/// The sums of two tiles of C in the registers of a warp: elements (r, 2 q) and (r, 2 q + 1) of the first
/// tile, then of the second.
struct TileSums {
  float c[4] = {};
};

/// Multiplies two pairs of tiles by one instruction (thesis, section 3.6.4, "Arrangement of tiles in the
/// TCUs", and figure 3.6). The two tiles of A are the diagonal of a 16 x 16 operand, those of B lie one below
/// the other, and the two halves of the 16 x 8 result are the tiles of C. The published program uses a 16 x
/// 16 operand for B as well; this one leaves its empty half out.
struct TensorCores {
  struct Memory {};

  __device__ static void multiplyAdd(TileSums& sums, const TileOperands& of, Memory&)
  {
    multiplyAddHalf(sums.c, {of.a[0], 0, 0, of.a[1]}, of.b);
  }
};

/// Multiplies two pairs of tiles without tensor cores (thesis, section 3.7, Algorithm 3), to show what tensor
/// cores gain. The tiles go to shared memory, and each thread multiplies a row of A's tile with two columns
/// of B's.
struct PlainCores {
  struct Memory {
    float a[2][8][8], b[2][8][8];
  };

  __device__ static void multiplyAdd(TileSums& sums, const TileOperands& of, Memory& memory)
  {
    const int row = threadIdx.x % 32 / 4, pair = threadIdx.x % 4;
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const float2 ofA = __half22float2(reinterpret_cast<const __half2&>(of.a[tile]));
      const float2 ofB = __half22float2(reinterpret_cast<const __half2&>(of.b[tile]));
      *reinterpret_cast<float2*>(&memory.a[tile][row][2 * pair]) = ofA;
      memory.b[tile][2 * pair][row] = ofB.x;
      memory.b[tile][2 * pair + 1][row] = ofB.y;
    }
    __syncwarp();
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float ofA = memory.a[tile][row][k];
        const float2 ofB = *reinterpret_cast<const float2*>(&memory.b[tile][k][2 * pair]);
        sums.c[2 * tile] = fmaf(ofA, ofB.x, sums.c[2 * tile]);
        sums.c[2 * tile + 1] = fmaf(ofA, ofB.y, sums.c[2 * tile + 1]);
      }
    }
    __syncwarp();
  }
};

/// Operands of the counting kernel: 1 where a tile has an entry (thesis, section 3.6.2).
struct OnesOfTiles {
  __device__ std::uint32_t ofA(TilePattern pattern, std::uint32_t) const
  {
    const auto two = static_cast<std::uint32_t>(pattern >> 2 * (threadIdx.x % 32)) & 3;
    return (two & 1) * one | (two >> 1) * one << 16;
  }
  __device__ std::uint32_t ofB(TilePattern pattern, std::uint32_t) const
  {
    const auto column =
        static_cast<std::uint32_t>(pattern >> (16 * (threadIdx.x % 4) + threadIdx.x % 32 / 4));
    return (column & 1) * one | (column >> 8 & 1) * one << 16;
  }

  static constexpr std::uint32_t one = 0x3c00; // in half precision
};

/// Operands of the multiplication kernel: the values where a tile has entries (thesis, section 3.6.3). The
/// bitmap tells the place of a value: the number of bits set before its own.
struct NumbersOfTiles {
  const std::uint16_t *a, *b;

  __device__ std::uint32_t ofA(TilePattern pattern, std::uint32_t first) const
  {
    const int bit = 2 * (threadIdx.x % 32);
    return read(a, pattern, first, bit) | read(a, pattern, first, bit + 1) << 16;
  }
  __device__ std::uint32_t ofB(TilePattern pattern, std::uint32_t first) const
  {
    const int bit = 16 * (threadIdx.x % 4) + threadIdx.x % 32 / 4;
    return read(b, pattern, first, bit) | read(b, pattern, first, bit + 8) << 16;
  }

private:
  static __device__ std::uint32_t read(const std::uint16_t* numbers, TilePattern pattern, std::uint32_t first,
                                       int bit)
  {
    return pattern >> bit & 1 ? numbers[first + __popcll(pattern & ((TilePattern{1} << bit) - 1))] : 0;
  }
};

constexpr int tasksAtOnce = 16; // tasks of each tile that a warp loads at a time

/// A task that one lane loads for the whole warp.
struct alignas(16) BroughtTask {
  TilePattern ofA = 0, ofB = 0;
  std::uint32_t firstOfA = 0, firstOfB = 0;
};

/// Shared memory of a warp.
template <class Cores>
struct WarpOfTiles {
  BroughtTask brought[2][tasksAtOnce];
  typename Cores::Memory cores;
};

/// The tiles of C and their tasks, as kernels take them.
struct TaskView {
  std::uint32_t tiles;
  const std::uint32_t* firstTask;
  const TileTask* task;
};

/// The sums of tiles `firstTile` and `firstTile` + 1 of C, by a warp (thesis, figure 3.7). If one tile has
/// fewer tasks, empty tiles take their places.
template <class Cores, class Source>
__device__ TileSums sumOfTasks(WarpOfTiles<Cores>& shared, const BitmapTileView& a, const BitmapTileView& b,
                               const TaskView& tasks, std::uint32_t firstTile, const Source& source)
{
  const int lane = threadIdx.x % 32, own = lane / tasksAtOnce, place = lane % tasksAtOnce;
  const std::uint32_t tile = min(firstTile + own, tasks.tiles), first = tasks.firstTask[tile];
  const std::uint32_t count = tasks.firstTask[min(tile + 1, tasks.tiles)] - first;
  const std::uint32_t longest = max(count, __shfl_xor_sync(~0u, count, tasksAtOnce));
  TileSums sums;
  for (std::uint32_t start = 0; start < longest; start += tasksAtOnce) {
    BroughtTask brought;
    if (start + place < count) {
      const TileTask task = tasks.task[first + start + place];
      brought = {a.pattern[task.tileOfA], b.pattern[task.tileOfB], a.first[task.tileOfA],
                 b.first[task.tileOfB]};
    }
    shared.brought[own][place] = brought;
    __syncwarp();
    const int steps = min(static_cast<std::uint32_t>(tasksAtOnce), longest - start);
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
      TileOperands operands;
#pragma unroll
      for (int t = 0; t < 2; ++t) {
        const BroughtTask& task = shared.brought[t][step];
        operands.a[t] = source.ofA(task.ofA, task.firstOfA);
        operands.b[t] = source.ofB(task.ofB, task.firstOfB);
      }
      Cores::multiplyAdd(sums, operands, shared.cores);
    }
    __syncwarp(); // the next tasks overwrite these
  }
  return sums;
}

/// Moves bits 0 to 31 of `even` to even places and those of `odd` to odd places.
__device__ inline TilePattern interleaved(unsigned even, unsigned odd)
{
  const auto spread = [](TilePattern bits) {
    bits = (bits | bits << 16) & 0x0000ffff0000ffffull;
    bits = (bits | bits << 8) & 0x00ff00ff00ff00ffull;
    bits = (bits | bits << 4) & 0x0f0f0f0f0f0f0f0full;
    bits = (bits | bits << 2) & 0x3333333333333333ull;
    return (bits | bits << 1) & 0x5555555555555555ull;
  };
  return spread(even) | spread(odd) << 1;
}

}
