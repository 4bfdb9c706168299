#pragma once

#include "Components/Resamplers/LaneSpans.cuh"
#include "Components/Resamplers/ResamplingValues.cuh"
#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/FixedPointIndex.h"

// What kernels that resample runs of voxels share: what a voxel has to be asked, and its value.
namespace tessera::resampling {

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
  /// The voxel of the first knot.
  __device__ __forceinline__ const float* corner(const LatticeToResample<D>& r, const Window<D>& window) const
  {
    unsigned offset = bits[0] - r.stepsOfWholeNumbers; // less than 2^31 voxels either way
#pragma unroll
    for (int d = 1; d < D; ++d)
      offset += bits[d] * r.steps[d];
    return window.corner + static_cast<int>(offset);
  }
  template <int Order>
  __device__ __forceinline__ float value(const LatticeToResample<D>& r, const float* corner) const
  {
    return valueFrom<D, Order>(corner, r.steps[1], D == 3 ? r.steps[D - 1] : 0, fraction);
  }
  template <int Order>
  __device__ __forceinline__ float value(const LatticeToResample<D>& r, const Window<D>& window) const
  {
    return value<Order>(r, corner(r, window));
  }
};

/// What a voxel of a run has to be asked.
enum class Asked {
  nothing,   // all cells of the run have their knots in the image
  border,    // where its cell lies
  everything // all values ask more than that
};

/// What kernels are made for: those whose voxels hardly ask anything need few registers, and go by more warps.
enum class Form {
  plain, // LatticeToResample::hasPlainValues
  careful
};

/// Calls function.template operator()<Kind, Form>() for what is asked for.
template <int D, class Function>
void withForm(const LatticeToResample<D>& r, Function&& function)
{
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    if constexpr (Kind != Interpolation::labelMajority)
      if (r.hasPlainValues)
        return function.template operator()<Kind, Form::plain>();
    function.template operator()<Kind, Form::careful>();
  });
}

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

/// How far outside the image a voxel may lie and still be asked where.
template <int D, Interpolation Kind>
__device__ __forceinline__ float beltOfSpans(const LatticeToResample<D>& r)
{
  return r.extrapolation == Extrapolation::constant ? beltOf(Kind) + r.margin : HUGE_VALF;
}

/// A lane's voxels, `stride` bytes apart, at path.at(number, index) for the numbers in [first, end). `spans`: of these numbers;
/// used where the border is asked about.
template <int D, Interpolation Kind, Asked Asks, int Together, class Path>
__device__ __forceinline__ void resampleColumn(const LatticeToResample<D>& r, const Window<D>& window, const Path& path, int first,
                                               int end, float* to, std::ptrdiff_t stride, const LaneSpans<D>& spans)
{
  const auto resampleNumber = [&]<Asked AsksOne>(float number) {
    float index[D];
    path.at(number, index);
    resampleAt<D, Kind, AsksOne>(r, window, index, to);
  };
  float number = static_cast<float>(first);
  const float last = static_cast<float>(end);
#pragma unroll Together
  for (; number < last; number += 1) {
    if constexpr (Asks != Asked::border) {
      resampleNumber.template operator()<Asks>(number);
    } else {
      bool inside = spans.inside.has(number), near = spans.near.has(number);
      if (orderOf(Kind) > 1 && __any_sync(__activemask(), near && !inside)) // all together: both ways would take both times
        inside = false;
      if (inside)
        resampleNumber.template operator()<Asked::nothing>(number);
      else if (near)
        resampleNumber.template operator()<Asked::border>(number);
      else
        *to = r.outside;
    }
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
template <int D, Interpolation Kind, Form Which, class Resample, class Fill>
__device__ __forceinline__ void resampleInBox(const LatticeToResample<D>& r, const Window<D>& window, const Box<D>& box,
                                              Resample&& resample, Fill&& fill)
{
  if constexpr (Which == Form::careful)
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
