#pragma once

#include "Components/Resamplers/ResamplingValues.cuh"
#include "Core/Registration/FixedPointIndex.h"

// What kernels that resample share: from a voxel to an index of the moving image.
namespace tessera::resampling {

/// The lower 32 bits as a fraction in [0, 1), by 23 of them.
__device__ __forceinline__ float fractionOf(long long index)
{
  return __uint_as_float(0x3f800000u | (static_cast<unsigned>(index) >> 9)) - 1;
}

template <int D>
__device__ __forceinline__ SplineCell<D> cellAt(const long long (&index)[D])
{
  SplineCell<D> cell;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    cell.first[d] = static_cast<int>(index[d] >> 32);
    cell.fraction[d] = fractionOf(index[d]);
  }
  return cell;
}

constexpr float noShift = -1.5f; // what sums of shifts begin with: see below

/// The cell of index + shift; `index` is less by the bits of wholeNumbers, `shift` by 1.5, and |shift| < 2^21. A whole index may be
/// the end of a cell.
template <int D>
__device__ __forceinline__ SplineCell<D> shiftedCell(const long long (&index)[D], const float (&shift)[D])
{
  SplineCell<D> cell;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const float onePlus = __uint_as_float(0x3f800000u | (static_cast<unsigned>(index[d]) >> 9));
    const float lessHalf = onePlus + shift[d], rounded = lessHalf + wholeNumbers;
    cell.first[d] = static_cast<int>(index[d] >> 32) + __float_as_int(rounded);
    cell.fraction[d] = lessHalf - (rounded - wholeNumbers) + 0.5f;
  }
  return cell;
}

/// The shift of an index by a displacement of `u` mm, as shiftedCell takes it.
template <int D>
__device__ __forceinline__ void shiftBy(const SplineToResample<D>& s, const float (&u)[D], float (&shift)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    shift[d] = noShift;
#pragma unroll
    for (int e = 0; e < D; ++e)
      shift[d] = fmaf(s.indexFromDisplacement[d][e], u[e], shift[d]);
  }
}

template <int D>
__device__ __forceinline__ void indexAt(const FixedPointMap<D>& map, const Voxel<D>& voxel, long long (&index)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    index[d] = map.start[d];
#pragma unroll
    for (int e = 0; e < D; ++e)
      index[d] += map.step[d][e] * voxel.index[e];
  }
}

/// Writes a voxel's value, and marks it if that is not sure. Marks of one word may come in any order.
template <int D, Interpolation Kind>
__device__ __forceinline__ void resampleInCell(const LatticeToResample<D>& r, const SplineCell<D>& cell, float* to,
                                               bool isSure = true)
{
  float value;
  isSure = valueInCell<D, Kind>(r, cell, value) && isSure;
  *to = value;
  if (!isSure) {
    const unsigned long long offset = to - r.voxels;
    atomicOr(r.unsure + offset / 32, 1u << (offset % 32));
  }
}

/// Where a block of blockDim.x x blockDim.y threads works: each thread on `rowsAThread` rows, blockDim.y apart.
template <int D>
struct RowsOfThread {
  Voxel<D> voxel;
  int rows;
  float* to;
  std::size_t stride;

  __device__ RowsOfThread(const LatticeToResample<D>& r, int rowsAThread)
  {
    voxel.index[0] = blockIdx.x * blockDim.x + threadIdx.x;
    voxel.index[1] = blockIdx.y * blockDim.y * rowsAThread + threadIdx.y;
    int endRow = r.size[1];
    std::size_t row = voxel.index[1];
    if constexpr (D == 3) {
      voxel.index[2] = r.firstLayer + blockIdx.z;
      row += static_cast<std::size_t>(blockIdx.z) * r.size[1];
    } else {
      voxel.index[1] += r.firstLayer;
      endRow = r.endLayer;
    }
    rows = voxel.index[0] < r.size[0]
               ? min(rowsAThread, (endRow - voxel.index[1] + static_cast<int>(blockDim.y) - 1) / static_cast<int>(blockDim.y))
               : 0;
    to = r.voxels + row * r.size[0] + voxel.index[0];
    stride = static_cast<std::size_t>(blockDim.y) * r.size[0];
  }
};

template <int D>
dim3 blocksFor(const LatticeToResample<D>& r, const dim3& threads, int rowsAThread)
{
  const int rows = D == 3 ? r.size[1] : r.endLayer - r.firstLayer;
  return dim3(ceilDiv<unsigned>(r.size[0], threads.x), ceilDiv<unsigned>(rows, threads.y * rowsAThread),
              D == 3 ? r.endLayer - r.firstLayer : 1);
}

}
