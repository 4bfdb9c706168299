#pragma once

#include "Components/Resamplers/ResamplingValues.cuh"
#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/FixedPointIndex.h"

// What kernels that resample share: warps that work on runs of rows, each counting indices from the middle of its run, so that
// single precision holds them.
namespace tessera::resampling {

/// The rows of a warp, and those of its lane among them: voxel[1] + lanesY * number. Runs begin at multiples of their size, and
/// their indices are the same, whatever layers are asked for.
template <int D>
struct Run {
  int firstRow, endRow;       // of the warp, in the lattice
  int voxel[D];               // of the lane at number 0; x may be behind the last one
  int firstNumber, endNumber; // that are asked for
  int middle[D];              // of the run, about
  bool isEmpty;               // for all lanes

  __device__ Run(const LatticeToResample<D>& r, const RunShape& shape)
  {
    const int lane = threadIdx.x, bitsX = shape.bitsOfLanesX, lanesX = 1 << bitsX, lanesY = 32 >> bitsX;
    const int warpX = threadIdx.y & ((1 << shape.bitsOfWarpsX) - 1), warp = threadIdx.y >> shape.bitsOfWarpsX;
    const int rows = shape.rowsALane * lanesY, firstX = ((blockIdx.x << shape.bitsOfWarpsX) + warpX) * lanesX;
    firstRow = (D == 3 ? blockIdx.y : r.firstLayer / rows + blockIdx.y * (warpsOfBlock >> shape.bitsOfWarpsX) + warp) * rows;
    endRow = min(firstRow + rows, r.size[1]);
    voxel[0] = firstX + (lane & (lanesX - 1));
    voxel[1] = firstRow + (lane >> bitsX);
    middle[0] = firstX + lanesX / 2;
    middle[1] = firstRow + rows / 2;
    firstNumber = 0;
    endNumber = (endRow - voxel[1] + lanesY - 1) >> (5 - bitsX);
    if constexpr (D == 3) {
      voxel[2] = middle[2] = r.firstLayer + blockIdx.z * (warpsOfBlock >> shape.bitsOfWarpsX) + warp;
      isEmpty = voxel[2] >= r.endLayer;
    } else {
      firstNumber = max(0, (r.firstLayer - voxel[1] + lanesY - 1) >> (5 - bitsX));
      endNumber = min(endNumber, (r.endLayer - voxel[1] + lanesY - 1) >> (5 - bitsX));
      isEmpty = firstRow >= r.endLayer;
    }
    if (voxel[0] >= r.size[0])
      endNumber = firstNumber;
  }
  /// At firstNumber; its next ones are lanesY rows further.
  __device__ float* target(const LatticeToResample<D>& r, const RunShape& shape) const
  {
    const int y = voxel[1] + firstNumber * (32 >> shape.bitsOfLanesX);
    const std::ptrdiff_t row = D == 3 ? static_cast<std::ptrdiff_t>(voxel[D - 1] - r.firstLayer) * r.size[1] + y : y - r.firstLayer;
    return r.voxels + row * r.size[0] + voxel[0];
  }
};

/// An index along a lane's rows, counted from `whole`: start + number * step.
template <int D>
struct StraightPath {
  int whole[D];
  float middle[D]; // of the run, in [0, 1)
  float start[D], step[D];

  __device__ __forceinline__ StraightPath(const IndexMap<D>& map, const Run<D>& run, int lanesY)
  {
    constexpr double wholeNumbersInDouble = 6755399441055744; // 3 * 2^51: adding it rounds down, if so asked, to its lowest bits
#pragma unroll
    for (int d = 0; d < D; ++d) {
      double index = map.offset[d];
#pragma unroll
      for (int e = 0; e < D; ++e)
        index = fma(map.matrix[d][e], static_cast<double>(run.middle[e]), index);
      const double rounded = __dadd_rd(index, wholeNumbersInDouble);
      whole[d] = __double2loint(rounded);
      middle[d] = static_cast<float>(index - (rounded - wholeNumbersInDouble));
      start[d] = fmaf(map.step[d][0], static_cast<float>(run.voxel[0] - run.middle[0]),
                      fmaf(map.step[d][1], static_cast<float>(run.voxel[1] - run.middle[1]), middle[d]));
      step[d] = map.step[d][1] * static_cast<float>(lanesY);
    }
  }
  __device__ __forceinline__ void at(float number, float (&index)[D]) const
  {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] = fmaf(number, step[d], start[d]);
  }
};

/// Where indices of a run lie.
template <int D>
struct Box {
  float lowest[D], highest[D];
};

/// The part of the image around a run: indices count from a cell `whole`.
template <int D>
struct Window {
  int whole[D];
  float low[D], high[D]; // of indices whose cells have all their knots in the image: low <= index < high
  const char* corner;    // of the cell `whole`, less what bitsOfWholeNumbers on each axis come to

  __device__ __forceinline__ Window(const LatticeToResample<D>& r, const int (&origin)[D])
  {
    corner = reinterpret_cast<const char*>(r.lessWholeNumbers);
#pragma unroll
    for (int d = 0; d < D; ++d) {
      whole[d] = origin[d];
      const float from = static_cast<float>(origin[d]); // far away it may be rounded
      low[d] = -from;
      high[d] = static_cast<float>(r.innerCells[d]) - from;
      corner += static_cast<long long>(origin[d]) * r.bytesOfStep[d];
    }
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
  __device__ __forceinline__ bool contains(const Box<D>& box) const
  {
    bool inside = true;
#pragma unroll
    for (int d = 0; d < D; ++d)
      inside = inside && box.lowest[d] > low[d] && box.highest[d] < high[d];
    return inside;
  }
  /// Whether all of a box lies more than `distance` beyond the same side.
  __device__ __forceinline__ bool misses(const Box<D>& box, float distance) const
  {
    bool misses = false;
#pragma unroll
    for (int d = 0; d < D; ++d)
      misses = misses || box.highest[d] < low[d] - distance || box.lowest[d] > high[d] + distance;
    return misses;
  }
};

/// Leaves a voxel to resampleUnsureVoxels. Marks of one word may come in any order.
template <int D>
__device__ __forceinline__ void markUnsure(const LatticeToResample<D>& r, const float* voxel)
{
  const unsigned long long offset = voxel - r.voxels;
  atomicOr(r.unsure + offset / 32, 1u << (offset % 32));
}

/// A voxel's value by way of every question.
template <int D, Interpolation Kind>
__device__ __noinline__ void resampleCarefully(const LatticeToResample<D>& r, SplineCell<D> cell, float* to, bool isSure)
{
  float value;
  isSure = valueInCell<D, Kind>(r, cell, value) && isSure;
  *to = value;
  if (!isSure)
    markUnsure<D>(r, to);
}

/// By how much an index inside the image may lie beyond the cells that have all their knots there.
constexpr float beltOf(Interpolation kind)
{
  return 0.5f * orderOf(kind);
}

/// One voxel at an index of the window. AllInside: all indices of the run are between low and high.
template <int D, Interpolation Kind, bool AllInside>
__device__ __forceinline__ void resampleAt(const LatticeToResample<D>& r, const Window<D>& window, float (&index)[D], float* to,
                                           bool isSure = true)
{
  constexpr int Order = orderOf(Kind);
  constexpr bool mayFold = Order == 1 && !AllInside;
  const float depth = AllInside ? 1 : window.depth(index);
  const bool mayBePlain = AllInside || (r.hasPlainValues && isSure);
  bool plain = mayBePlain && (AllInside || depth > r.plainDepth);
  int bits[D]; // of the cell
  float fraction[D];
#pragma unroll
  for (int d = 0; d < D; ++d) {
    float at = index[d], rounded;
    if (mayFold) { // beyond the border the nearest voxels again, or mirrored ones
      const float low = window.low[d], high = window.high[d];
      at = at < low ? low + (r.image.repeatsBorder ? 0 : low - at) : at;
      at = at > high ? high - (r.image.repeatsBorder ? 0 : at - high) : at;
      rounded = fminf(__fadd_rd(at, wholeNumbers), high + (wholeNumbers - 1));
    } else {
      rounded = __fadd_rd(at, wholeNumbers);
    }
    bits[d] = __float_as_int(rounded);
    fraction[d] = at - (rounded - wholeNumbers);
    if (Order == 0) // or the next one is as near
      plain = plain && fabsf(fraction[d] - 0.5f) < 0.5f - r.margin;
  }
  const auto cellInImage = [&] {
    SplineCell<D> cell;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float rounded = __fadd_rd(index[d], wholeNumbers);
      cell.first[d] = window.whole[d] + (__float_as_int(rounded) - bitsOfWholeNumbers);
      cell.fraction[d] = index[d] - (rounded - wholeNumbers);
    }
    return cell;
  };
  if (AllInside || plain) {
    if constexpr (!AllInside && Order > 1)
      if (__any_sync(__activemask(), depth <= 0)) { // all together: both ways would take both times
        *to = splineAtBorder<D, Order>(r.image, cellInImage());
        return;
      }
    const char* start = window.corner;
#pragma unroll
    for (int d = D - 1; d >= 0; --d)
      start += static_cast<long long>(bits[d]) * r.bytesOfStep[d];
    *to = valueFrom<D, Order>(reinterpret_cast<const float*>(start), r.bytesOfStep[1] >> 2, D == 3 ? r.bytesOfStep[D - 1] >> 2 : 0,
                              fraction);
    if (AllInside && !plain) // another voxel may be the nearest
      markUnsure<D>(r, to);
  } else if (mayBePlain && depth < -beltOf(Kind) - r.margin && r.extrapolation == Extrapolation::constant) {
    *to = r.outside;
  } else if constexpr (!AllInside) {
    resampleCarefully<D, Kind>(r, cellInImage(), to, isSure);
  }
}

/// A lane's rows, `stride` voxels apart, at path.at(number, index) for the numbers in [first, end).
template <int D, Interpolation Kind, bool AllInside, int Together, class Path>
__device__ __forceinline__ void resampleRows(const LatticeToResample<D>& r, const Window<D>& window, const Path& path, int first,
                                             int end, float*& to, std::ptrdiff_t stride)
{
  float number = static_cast<float>(first);
#pragma unroll Together
  for (int rows = end - first; rows > 0; --rows) {
    float index[D];
    path.at(number, index);
    resampleAt<D, Kind, AllInside>(r, window, index, to);
    number += 1;
    to += stride;
  }
}

/// Rows whose values are under way at the same time: more of them would cost warps.
constexpr int rowsTogether(Interpolation kind, bool allInside)
{
  return allInside && orderOf(kind) < 2 ? 2 : 1;
}

/// Calls resample.template operator()<AllInside>() for a run in a box; writes runs that lie outside itself.
template <int D, Interpolation Kind, class Resample>
__device__ __forceinline__ void resampleInBox(const LatticeToResample<D>& r, const RunShape& shape, const Run<D>& run,
                                              const Window<D>& window, const Box<D>& box, Resample&& resample)
{
  if (r.hasPlainValues && window.contains(box))
    return resample.template operator()<true>();
  if (!r.hasPlainValues || r.extrapolation != Extrapolation::constant || !window.misses(box, beltOf(Kind) + r.margin))
    return resample.template operator()<false>();
  float* to = run.target(r, shape);
  for (int number = run.firstNumber; number < run.endNumber; ++number, to += r.size[0] * (32 >> shape.bitsOfLanesX))
    *to = r.outside;
}

template <int D>
dim3 blocksFor(const LatticeToResample<D>& r, const RunShape& shape)
{
  const unsigned lanesX = 1u << shape.bitsOfLanesX, rows = shape.rowsALane * (32 / lanesX), layers = r.endLayer - r.firstLayer;
  const unsigned inX = ceilDiv<unsigned>(r.size[0], lanesX << shape.bitsOfWarpsX), warps = warpsOfBlock >> shape.bitsOfWarpsX;
  if (D == 3)
    return dim3(inX, ceilDiv<unsigned>(r.size[1], rows), ceilDiv<unsigned>(layers, warps));
  return dim3(inX, ceilDiv<unsigned>(ceilDiv<unsigned>(r.endLayer, rows) - r.firstLayer / rows, warps), 1);
}

inline dim3 threadsOfRuns()
{
  return dim3(32, warpsOfBlock);
}

}
