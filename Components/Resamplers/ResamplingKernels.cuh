#pragma once

#include "Components/Resamplers/ResamplingValues.cuh"
#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/FixedPointIndex.h"

// What kernels that resample share: warps that work on runs of voxels, each counting indices from the middle of its run, so that
// single precision holds them.
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

/// The voxels of a warp, and those of its lane among them: voxel[D - 1] + apart * number. Runs begin at multiples of their length,
/// and their indices are the same, whatever layers are asked for.
template <int D>
struct Run {
  int first, end;             // of the warp, along the lattice's last axis
  int voxel[D];               // of the lane at number 0; x and y may be behind the last one
  int apart;                  // the lane's next voxel
  int firstNumber, endNumber; // that are asked for
  int middle[D];              // of the run, about
  bool isEmpty;               // for all lanes

  __device__ Run(const LatticeToResample<D>& r, const RunShape& shape)
  {
    constexpr int last = D - 1;
    const int lane = threadIdx.x, bitsX = shape.bitsOfLanesX, bitsY = 5 - bitsX, rowOfLane = lane >> bitsX;
    const int warpX = threadIdx.y & ((1 << shape.bitsOfWarpsX) - 1), warp = threadIdx.y >> shape.bitsOfWarpsX;
    const int warpsY = warpsOfBlock >> shape.bitsOfWarpsX, firstX = ((blockIdx.x << shape.bitsOfWarpsX) + warpX) << bitsX;
    const int bitsApart = D == 3 ? 0 : bitsY, bitsOfLength = shape.bitsOfVoxels + bitsApart, inY = blockIdx.y * warpsY + warp;
    voxel[0] = firstX + (lane & ((1 << bitsX) - 1));
    middle[0] = firstX + (1 << bitsX) / 2;
    bool isInLattice = voxel[0] < r.size[0];
    if constexpr (D == 3) {
      voxel[1] = (inY << bitsY) + rowOfLane;
      middle[1] = (inY << bitsY) + (1 << bitsY) / 2;
      isInLattice = isInLattice && voxel[1] < r.size[1];
    }
    first = ((r.firstLayer >> bitsOfLength) + (D == 3 ? static_cast<int>(blockIdx.z) : inY)) << bitsOfLength;
    end = min(first + (1 << bitsOfLength), r.size[last]);
    isEmpty = D == 3 ? inY << bitsY >= r.size[1] : first >= r.endLayer;
    voxel[last] = first + (D == 3 ? 0 : rowOfLane);
    middle[last] = first + (1 << bitsOfLength) / 2;
    apart = 1 << bitsApart;
    firstNumber = max(0, (r.firstLayer - voxel[last] + apart - 1) >> bitsApart);
    endNumber = isInLattice ? (min(end, r.endLayer) - voxel[last] + apart - 1) >> bitsApart : firstNumber;
  }
  /// Bytes from one of the lane's voxels to the next.
  __device__ std::ptrdiff_t stride(const LatticeToResample<D>& r) const
  {
    return keptWhole(static_cast<std::ptrdiff_t>(sizeof(float)) * r.size[0] * (D == 3 ? r.size[1] : apart));
  }
  /// Bytes from r.voxels to the lane's voxel at number 0, which may be before the layers that are asked for.
  __device__ std::ptrdiff_t place(const LatticeToResample<D>& r) const
  {
    const std::ptrdiff_t layer = voxel[D - 1] - r.firstLayer;
    return keptWhole(static_cast<std::ptrdiff_t>(sizeof(float))
                     * ((D == 3 ? layer * r.size[1] + voxel[1] : layer) * r.size[0] + voxel[0]));
  }
  __device__ float* target(const LatticeToResample<D>& r, int number) const
  {
    return moved(r.voxels, place(r) + number * stride(r));
  }
};

/// An index along a lane's voxels, counted from `whole`: start + number * step.
template <int D>
struct StraightPath {
  int whole[D];
  float middle[D]; // of the run, in [0, 1)
  float start[D], step[D];

  __device__ __forceinline__ StraightPath(const IndexMap<D>& map, const Run<D>& run)
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
      middle[d] = start[d] = static_cast<float>(index - (rounded - wholeNumbersInDouble));
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
  const float* corner;   // of the cell `whole`

  __device__ __forceinline__ Window(const LatticeToResample<D>& r, const int (&origin)[D])
  {
    corner = r.image.coefficients;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      whole[d] = origin[d];
      const float from = static_cast<float>(origin[d]); // far away it may be rounded
      low[d] = -from;
      high[d] = static_cast<float>(r.innerCells[d]) - from;
      corner += static_cast<long long>(origin[d]) * r.steps[d];
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

/// An index beyond the border as one between: the nearest, or mirrored. In the image's last cell it may be its end.
template <int D>
__device__ __forceinline__ void fold(const LatticeToResample<D>& r, const Window<D>& window, float (&index)[D])
{
  if (r.image.repeatsBorder) {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] = fminf(fmaxf(index[d], window.low[d]), window.high[d]);
  } else {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float low = window.low[d], high = window.high[d], at = index[d];
      index[d] = at < low ? low + (low - at) : at > high ? high - (at - high) : at;
    }
  }
}

/// A cell as the bits of its number, of indices less than 2^22 voxels away.
template <int D>
struct CellBits {
  int bits[D];
  float fraction[D];

  __device__ __forceinline__ explicit CellBits(const float (&index)[D])
  {
#pragma unroll
    for (int d = 0; d < D; ++d)
      set(d, index[d], __fadd_rd(index[d], wholeNumbers));
  }
  __device__ __forceinline__ void set(int d, float index, float rounded)
  {
    bits[d] = __float_as_int(rounded);
    fraction[d] = index - (rounded - wholeNumbers);
  }
  __device__ __forceinline__ bool isInner(const LatticeToResample<D>& r, const Window<D>& window) const
  {
    bool inner = true;
#pragma unroll
    for (int d = 0; d < D; ++d)
      inner = inner && static_cast<unsigned>(bits[d] - (bitsOfWholeNumbers - window.whole[d])) < r.innerCells[d];
    return inner;
  }
  __device__ __forceinline__ SplineCell<D> inImage(const Window<D>& window) const
  {
    SplineCell<D> cell;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      cell.first[d] = window.whole[d] + (bits[d] - bitsOfWholeNumbers);
      cell.fraction[d] = fraction[d];
    }
    return cell;
  }
  /// Whether no other voxel may be as near as that of the cell; of order 0.
  __device__ __forceinline__ bool isNearest(float margin) const
  {
    bool nearest = true;
#pragma unroll
    for (int d = 0; d < D; ++d)
      nearest = nearest && fabsf(fraction[d] - 0.5f) < 0.5f - margin;
    return nearest;
  }
  template <int Order>
  __device__ __forceinline__ float value(const LatticeToResample<D>& r, const Window<D>& window) const
  {
    unsigned offset = bits[0] - r.stepsOfWholeNumbers; // less than 2^31 voxels either way
#pragma unroll
    for (int d = 1; d < D; ++d)
      offset += bits[d] * r.steps[d];
    return valueFrom<D, Order>(window.corner + static_cast<int>(offset), r.steps[1], D == 3 ? r.steps[D - 1] : 0, fraction);
  }
};

/// What a voxel of a run has to be asked.
enum class Asked {
  nothing,   // all cells of the run have their knots in the image
  border,    // where its cell lies
  everything // all values ask more than that
};

/// One voxel at an index of the window.
template <int D, Interpolation Kind, Asked Asks>
__device__ __forceinline__ void resampleAt(const LatticeToResample<D>& r, const Window<D>& window, float (&index)[D], float* to,
                                           bool isSure = true)
{
  constexpr int Order = orderOf(Kind);
  CellBits<D> cell(index);
  if constexpr (Asks == Asked::everything) {
    resampleCarefully<D, Kind>(r, cell.inImage(window), to, isSure);
  } else if constexpr (Asks == Asked::nothing) {
    *to = cell.template value<Order>(r, window);
    if (Order == 0 && !cell.isNearest(r.margin))
      markUnsure<D>(r, to);
  } else {
    const bool isInner = cell.isInner(r, window);
    bool isOutside = false, plain = isInner && (Order > 0 || cell.isNearest(r.margin));
    if (!isInner) {
      const float depth = window.depth(index);
      plain = Order > 0 && depth > r.plainDepth;
      isOutside = isSure && depth < -beltOf(Kind) - r.margin && r.extrapolation == Extrapolation::constant;
      if (Order == 1 && plain) {
        fold<D>(r, window, index);
#pragma unroll
        for (int d = 0; d < D; ++d)
          cell.set(d, index[d], fminf(__fadd_rd(index[d], wholeNumbers), window.high[d] + (wholeNumbers - 1)));
      }
    }
    if (!plain || !isSure) {
      *to = r.outside;
      if (!isOutside)
        markUnsure<D>(r, to);
      return;
    }
    if constexpr (Order > 1)
      if (__any_sync(__activemask(), !isInner)) { // all together: both ways would take both times
        *to = splineAtBorder<D, Order>(r.image, cell.inImage(window));
        return;
      }
    *to = cell.template value<Order>(r, window);
  }
}

/// A lane's voxels, `stride` bytes apart, at path.at(number, index) for the numbers in [first, end).
template <int D, Interpolation Kind, Asked Asks, int Together, class Path>
__device__ __forceinline__ void resampleColumn(const LatticeToResample<D>& r, const Window<D>& window, const Path& path, int first,
                                               int end, float* to, std::ptrdiff_t stride)
{
  float number = static_cast<float>(first);
#pragma unroll Together
  for (int left = end - first; left > 0; --left) {
    float index[D];
    path.at(number, index);
    resampleAt<D, Kind, Asks>(r, window, index, to);
    number += 1;
    to = moved(to, stride);
  }
}

/// Voxels of a lane whose values are under way at the same time: more of them would cost warps.
constexpr int voxelsTogether(Interpolation kind, Asked asks)
{
  return asks == Asked::nothing && orderOf(kind) < 2 ? 2 : 1;
}

/// A lane's voxels that are mapped outside the image.
template <int D>
__device__ __forceinline__ void fillColumn(const LatticeToResample<D>& r, int first, int end, float* to, std::ptrdiff_t stride)
{
#pragma unroll 1
  for (; first < end; ++first, to = moved(to, stride))
    *to = r.outside;
}

/// Calls resample.template operator()<Asked>() for a run in a box, or fill() if it lies outside.
template <int D, Interpolation Kind, class Resample, class Fill>
__device__ __forceinline__ void resampleInBox(const LatticeToResample<D>& r, const Window<D>& window, const Box<D>& box,
                                              Resample&& resample, Fill&& fill)
{
  if (!r.hasPlainValues)
    resample.template operator()<Asked::everything>();
  else if (window.contains(box))
    resample.template operator()<Asked::nothing>();
  else if (r.extrapolation == Extrapolation::constant && window.misses(box, beltOf(Kind) + r.margin))
    fill();
  else
    resample.template operator()<Asked::border>();
}

template <int D>
dim3 blocksFor(const LatticeToResample<D>& r, const RunShape& shape)
{
  const unsigned lanesX = 1u << shape.bitsOfLanesX, lanesY = 32 / lanesX, warpsY = warpsOfBlock >> shape.bitsOfWarpsX;
  const unsigned length = shape.voxelsALane() * (D == 3 ? 1 : lanesY),
                 runs = ceilDiv<unsigned>(r.endLayer, length) - r.firstLayer / length;
  const unsigned inX = ceilDiv<unsigned>(r.size[0], lanesX << shape.bitsOfWarpsX);
  if (D == 3)
    return dim3(inX, ceilDiv<unsigned>(r.size[1], lanesY * warpsY), runs);
  return dim3(inX, ceilDiv<unsigned>(runs, warpsY), 1);
}

inline dim3 threadsOfRuns()
{
  return dim3(32, warpsOfBlock);
}

}
