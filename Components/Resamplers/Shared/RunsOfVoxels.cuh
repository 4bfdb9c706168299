#pragma once

#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Core/Compute/Cuda.cuh"

// Warps that work on runs of voxels, each counting indices from the middle of its run, so that single
// precision holds them.
namespace tessera::resampling {

/// The value, which loops would else make of its parts anew in each round.
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

/// The voxels of a warp, and those of its lane among them: voxel[D - 1] + apart * number. Runs begin at
/// multiples of their length, and their indices are the same, whatever slices are asked for.
template <int D>
struct Run {
  int first, end;             // of the warp, along the lattice's last axis
  int voxel[D];               // of the lane at number 0; x and y may be behind the last one
  int apart;                  // the lane's next voxel
  int firstNumber, endNumber; // that are asked for; in 3D the same for all lanes
  bool isInLattice;           // by x and y
  int middle[D];              // of the run, about
  bool isEmpty;               // for all lanes

  __device__ Run(const LatticeToResample<D>& r, const RunShape& shape)
      : Run(r, shape, blockIdx.x, blockIdx.y * shape.warps + threadIdx.y, blockIdx.z)
  {
  }
  /// `inX`: counts warps along x; `inY`: along y; `inZ`: from the first slice on.
  __device__ Run(const LatticeToResample<D>& r, const RunShape& shape, int inX, int inY, int inZ)
  {
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
  /// Bytes from one of the lane's voxels to the next.
  __device__ std::ptrdiff_t stride(const LatticeToResample<D>& r) const
  {
    return keptWhole(static_cast<std::ptrdiff_t>(sizeof(float)) * r.size[0] * (D == 3 ? r.size[1] : apart));
  }
  /// Bytes from r.voxels to the lane's voxel at number 0, which may be before the slices that are asked for.
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

/// Where the middle of a run is mapped to. Lane d of the warp holds axis d of the index, all others the last:
/// that takes a third of the instructions, and few registers.
template <int D>
struct MiddleOfRun {
  int axis, whole; // the index, rounded down
  float fraction;

  __device__ __forceinline__ MiddleOfRun(const IndexMap<D>& map, const Run<D>& run)
      : axis(min(static_cast<int>(threadIdx.x), D - 1))
  {
    constexpr double wholeNumbersInDouble =
        6755399441055744; // 3 * 2^51: adding it rounds down, if so asked, to its lowest bits
    double index = map.offset[axis];
#pragma unroll
    for (int e = 0; e < D; ++e)
      index = fma(map.matrix[axis][e], static_cast<double>(run.middle[e]), index);
    const double rounded = __dadd_rd(index, wholeNumbersInDouble);
    whole = __double2loint(rounded);
    fraction = static_cast<float>(index - (rounded - wholeNumbersInDouble));
  }
  /// Counts from a voxel that is `voxels` of the image further.
  __device__ __forceinline__ void countFrom(int voxels)
  {
    whole += voxels;
    fraction -= static_cast<float>(voxels);
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

/// An index along a lane's voxels, counted from MiddleOfRun::whole: start + number * step.
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

/// The part of the image around a run: indices count from MiddleOfRun::whole.
template <int D>
struct Window {
  int whole[D];
  float low[D], high[D]; // of indices whose cells have all their knots in the image: low <= index < high
  const float* corner;   // of the cell `whole`

  __device__ __forceinline__ Window(const LatticeToResample<D>& r, const MiddleOfRun<D>& middle)
  {
    corner = r.image.coefficients;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      whole[d] = middle.wholeOf(d);
      const float from = static_cast<float>(whole[d]); // far away it may be rounded
      low[d] = -from;
      high[d] = static_cast<float>(r.innerCells[d]) - from;
      corner += static_cast<long long>(whole[d]) * r.steps[d];
    }
    corner = keptWhole(corner);
  }
  /// How deep between low and high an index lies; outside it is negative.
  __device__ __forceinline__ float depth(const float (&index)[D]) const
  {
    float least = HUGE_VALF;
#pragma unroll
    for (int d = 0; d < D; ++d)
      least = fminf(least, fminf(index[d] - low[d], high[d] - index[d]));
    return least;
  }
};

/// Where all indices of a run lie.
enum class RunIs { inside, atBorder, outside };

/// Of indices from lowest to highest, counted from the middle's whole, along the lane's axis; outside: more
/// than `belt` from where cells have their knots.
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
