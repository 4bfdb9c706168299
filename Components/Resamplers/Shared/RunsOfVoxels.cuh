#pragma once

#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Core/Compute/Cuda/Cuda.cuh"

// Each warp computes a run of voxels. It counts indices of the moving image from the index of the run's
// middle, so that single precision is exact enough.
namespace tessera::resampling {

/// Keeps the compiler from computing a value anew in each round of a loop.
template <class Word>
__device__ __forceinline__ Word keptWhole(Word value)
{
#ifdef __CUDA_ARCH__
  asm("" : "+l"(value));
#endif
  return value;
}

__device__ __forceinline__ float* moved(float* voxel, std::ptrdiff_t bytes)
{
  return reinterpret_cast<float*>(reinterpret_cast<char*>(voxel) + bytes);
}

/// The run of a warp. Voxel `number` of a lane has the index voxel[D - 1] + apart * number along the last
/// axis. Runs begin at multiples of their length, so that a voxel has the same bits whichever slices one
/// launch computes.
template <int D>
struct Run {
  int first, end;             // voxels of the warp along the lattice's last axis
  int voxel[D];               // number 0 of the lane; x and y may lie beyond the lattice
  int apart;                  // distance of a lane's consecutive voxels
  int firstNumber, endNumber; // the numbers in the slices of the launch; in 3D the same for all lanes
  bool isInLattice;           // whether x and y lie in the lattice
  int middle[D];              // voxel near the middle of the run
  bool isEmpty;               // whether no lane has a voxel

  __device__ Run(const LatticeToResample<D>& r, const RunShape& shape)
  {
    // Place of the warp.
    const int inX = blockIdx.x, inY = blockIdx.y * shape.warps + threadIdx.y, inZ = blockIdx.z;
    constexpr int last = D - 1;
    const int lane = threadIdx.x, bitsX = shape.bitsOfLanesX, bitsY = 5 - bitsX, rowOfLane = lane >> bitsX;
    const int firstX = inX << bitsX;
    const int bitsApart = D == 3 ? 0 : bitsY, bitsOfLength = shape.bitsOfVoxels + bitsApart;
    voxel[0] = firstX + (lane & ((1 << bitsX) - 1));
    middle[0] = firstX + (1 << bitsX) / 2;
    isInLattice = voxel[0] < r.size[0];
    if constexpr (D == 3) {
      voxel[1] = (inY << bitsY) + rowOfLane;
      middle[1] = (inY << bitsY) + (1 << bitsY) / 2;
      isInLattice = isInLattice && voxel[1] < r.size[1];
    }
    first = ((r.firstSlice >> bitsOfLength) + (D == 3 ? inZ : inY)) << bitsOfLength;
    end = min(first + (1 << bitsOfLength), r.size[last]);
    isEmpty = D == 3 ? inY << bitsY >= r.size[1] : first >= r.endSlice;
    voxel[last] = first + (D == 3 ? 0 : rowOfLane);
    middle[last] = first + (1 << bitsOfLength) / 2;
    apart = 1 << bitsApart;
    firstNumber = max(0, (r.firstSlice - voxel[last] + apart - 1) >> bitsApart);
    endNumber = (min(end, r.endSlice) - voxel[last] + apart - 1) >> bitsApart;
  }
  /// Bytes from one voxel of the lane to the next.
  __device__ std::ptrdiff_t stride(const LatticeToResample<D>& r) const
  {
    return keptWhole(static_cast<std::ptrdiff_t>(sizeof(float)) * r.size[0] * (D == 3 ? r.size[1] : apart));
  }
  /// Bytes from r.voxels to number 0 of the lane, which may lie before the slices of the launch.
  __device__ std::ptrdiff_t place(const LatticeToResample<D>& r) const
  {
    const std::ptrdiff_t slice = voxel[D - 1] - r.firstSlice;
    return keptWhole(static_cast<std::ptrdiff_t>(sizeof(float))
                     * ((D == 3 ? slice * r.size[1] + voxel[1] : slice) * r.size[0] + voxel[0]));
  }
  __device__ float* target(const LatticeToResample<D>& r, int number) const
  {
    return moved(r.voxels, place(r) + number * stride(r));
  }
};

/// The index to which the middle of a run is mapped. Lane d holds axis d, and all other lanes the last axis:
/// that takes a third of the instructions and few registers.
template <int D>
struct MiddleOfRun {
  int axis, whole; // `whole`: the index rounded down
  float fraction;

  __device__ __forceinline__ MiddleOfRun(const IndexMap<D>& map, const Run<D>& run)
      : axis(min(static_cast<int>(threadIdx.x), D - 1))
  {
    constexpr double wholeNumbersInDouble = 6755399441055744; // 3 * 2^51: the sum has a whole number in its
                                                              // lowest bits
    double index = map.offset[axis];
#pragma unroll
    for (int e = 0; e < D; ++e)
      index = fma(map.matrix[axis][e], static_cast<double>(run.middle[e]), index);
    const double rounded = __dadd_rd(index, wholeNumbersInDouble);
    whole = __double2loint(rounded);
    fraction = static_cast<float>(index - (rounded - wholeNumbersInDouble));
  }
  __device__ __forceinline__ int wholeOf(int ofAxis) const
  {
    return __shfl_sync(~0u, whole, ofAxis);
  }
  __device__ __forceinline__ float fractionOf(int ofAxis) const
  {
    return __shfl_sync(~0u, fraction, ofAxis);
  }
};

/// The indices of a lane's voxels, start + number * step, relative to MiddleOfRun::whole.
template <int D>
struct StraightPath {
  float start[D], step[D];

  __device__ __forceinline__ StraightPath(const IndexMap<D>& map, const Run<D>& run,
                                          const MiddleOfRun<D>& middle)
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      start[d] = middle.fractionOf(d);
#pragma unroll
      for (int e = D - 1; e >= 0; --e)
        start[d] = fmaf(map.step[d][e], static_cast<float>(run.voxel[e] - run.middle[e]), start[d]);
      step[d] = D == 3 ? map.step[d][D - 1] : map.step[d][D - 1] * static_cast<float>(run.apart);
    }
  }
  __device__ __forceinline__ void at(float number, float (&index)[D]) const
  {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] = fmaf(number, step[d], start[d]);
  }
};

/// The part of the image around a run. Indices are relative to MiddleOfRun::whole.
template <int D>
struct Window {
  int whole[D];
  float low[D], high[D]; // inner cells: low <= index < high
  const float* corner;   // voxel of the first knot of the cell `whole`

  __device__ __forceinline__ Window(const LatticeToResample<D>& r, const MiddleOfRun<D>& middle)
  {
    corner = r.image.coefficients;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      whole[d] = middle.wholeOf(d);
      const float from = static_cast<float>(whole[d]); // may be rounded for a run far from the image
      low[d] = -from;
      high[d] = static_cast<float>(r.innerCells[d]) - from;
      corner += static_cast<long long>(whole[d]) * r.steps[d];
    }
    corner = keptWhole(corner);
  }
  /// The distance of an index from the nearer of low and high over all axes; negative outside.
  __device__ __forceinline__ float depth(const float (&index)[D]) const
  {
    float smallest = HUGE_VALF;
#pragma unroll
    for (int d = 0; d < D; ++d)
      smallest = fminf(smallest, fminf(index[d] - low[d], high[d] - index[d]));
    return smallest;
  }
};

/// Where the indices of a run lie with respect to the image.
enum class RunIs { inside, atBorder, outside };

/// Where a run lies whose indices along the lane's axis are between `lowest` and `highest`, relative to
/// MiddleOfRun::whole. A run is outside if it is more than `belt` voxels away from the inner cells.
template <int D>
__device__ __forceinline__ RunIs whereRunIs(const LatticeToResample<D>& r, const MiddleOfRun<D>& middle,
                                            float lowest, float highest, float belt)
{
  const float from = static_cast<float>(middle.whole), low = -from,
              high = static_cast<float>(r.innerCells[middle.axis]) - from;
  if (__all_sync(~0u, lowest > low && highest < high))
    return RunIs::inside;
  return __any_sync(~0u, highest < low - belt || lowest > high + belt) ? RunIs::outside : RunIs::atBorder;
}

}
