#pragma once

#include "Components/Resamplers/Shared/LaneSpans.cuh"
#include "Components/Resamplers/Shared/ResamplingValues.cuh"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Registration/Samples/FixedPointIndex.h"

// Shared by the kernels that resample runs of voxels: the decisions about a voxel, and its value.
namespace tessera::resampling {

/// Leaves a voxel to resampleUnsureVoxels. Several threads may mark bits of the same word.
template <int D>
__device__ __forceinline__ void markUnsure(const LatticeToResample<D>& r, const float* voxel)
{
  const unsigned long long offset = voxel - r.voxels;
  atomicOr(r.unsure + offset / 32, 1u << (offset % 32));
}

/// The value of a voxel after all checks: labels, mask, extrapolation and border.
template <int D, Interpolation Kind>
__device__ __noinline__ void resampleCarefully(const LatticeToResample<D>& r, SplineCell<D> cell, float* to,
                                               bool isSure)
{
  float value;
  isSure = valueInCell<D, Kind>(r, cell, value) && isSure;
  *to = value;
  if (!isSure)
    markUnsure<D>(r, to);
}

/// How far, in voxels, an index inside the image can lie beyond the inner cells.
constexpr float beltOf(Interpolation kind)
{
  return 0.5f * orderOf(kind);
}

/// Moves an index that lies beyond the inner cells to the nearest one of them, or to its mirror image.
/// Returns the largest distance beyond over the axes, 0 for an index between. The result may be the end of
/// the last inner cell.
template <int D>
__device__ __forceinline__ float fold(const LatticeToResample<D>& r, const Window<D>& window,
                                      float (&index)[D])
{
  float past[D], largest = 0;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const float nearest = fminf(fmaxf(index[d], window.low[d]), window.high[d]);
    past[d] = index[d] - nearest;
    largest = fmaxf(largest, fabsf(past[d]));
    index[d] = nearest;
  }
  if (!r.image.repeatsBorder) {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] -= past[d];
  }
  return largest;
}

/// The cell of an index that is less than 2^22 voxels away from the window's. `bits` are those of a float to
/// which the index was added so that its whole part stands in the lowest bits.
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
      inner =
          inner && static_cast<unsigned>(bits[d] - (bitsOfWholeNumbers - window.whole[d])) < r.innerCells[d];
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
  /// Whether, for order 0, the nearest voxel is certain in spite of the error of the index.
  __device__ __forceinline__ bool isNearest(float margin) const
  {
    bool nearest = true;
#pragma unroll
    for (int d = 0; d < D; ++d)
      nearest = nearest && fabsf(fraction[d] - 0.5f) < 0.5f - margin;
    return nearest;
  }
  /// The voxel of the cell's first knot.
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

/// The checks that the voxels of a run need.
enum class Asked {
  nothing,   // all knots of all cells lie in the image
  border,    // whether the cell lies inside, at the border or outside
  everything // labels, masks or extrapolation as well
};

/// Kernels are compiled for the two forms apart: without the checks they need few registers, so that many
/// warps run at the same time.
enum class Form {
  plain,  // LatticeToResample::hasPlainValues
  careful // everything else
};

/// Calls function.template operator()<Kind, Form>() for the image's interpolation and form.
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

/// Computes the voxel at `to` from an index relative to the window.
template <int D, Interpolation Kind, Asked Asks>
__device__ __forceinline__ void resampleAt(const LatticeToResample<D>& r, const Window<D>& window,
                                           float (&index)[D], float* to, bool isSure = true)
{
  constexpr int Order = orderOf(Kind);
  CellBits<D> cell(index);
  if constexpr (Asks == Asked::everything) {
    resampleCarefully<D, Kind>(r, cell.inImage(window), to, isSure);
  } else if constexpr (Asks == Asked::nothing) {
    *to = cell.template value<Order>(r, keptWhole(cell.corner(r, window)));
    if (Order == 0 && !cell.isNearest(r.margin))
      markUnsure<D>(r, to);
  } else if constexpr (Order == 1) {
    // Inner cells and others take the same path: a warp whose lanes diverge takes the time of both paths.
    const float beyond = fold<D>(r, window, index);
    const bool plain = isSure && beyond <= -r.plainDepth;
    float value = r.outside;
    if (plain) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        cell.set(d, index[d], fminf(__fadd_rd(index[d], wholeNumbers), window.high[d] + (wholeNumbers - 1)));
      value = cell.template value<Order>(r, window);
    }
    *to = value;
    if (!plain && !(isSure && beyond > beltOf(Kind) + r.margin && r.extrapolation == Extrapolation::constant))
      markUnsure<D>(r, to);
  } else {
    const bool isInner = cell.isInner(r, window);
    bool isOutside = false, plain = isInner && (Order > 0 || cell.isNearest(r.margin));
    if (!isInner) {
      const float depth = window.depth(index);
      plain = Order > 0 && depth > r.plainDepth;
      isOutside = isSure && depth < -beltOf(Kind) - r.margin && r.extrapolation == Extrapolation::constant;
    }
    if (!plain || !isSure) {
      *to = r.outside;
      if (!isOutside)
        markUnsure<D>(r, to);
      return;
    }
    if constexpr (Order > 1)
      if (__any_sync(__activemask(), !isInner)) { // one path for the warp: divergence would cost both
        *to = splineAtBorder<D, Order>(r.image, cell.inImage(window));
        return;
      }
    *to = cell.template value<Order>(r, window);
  }
}

/// How far outside the image, in voxels, an index may lie and still need the checks of the border.
template <int D, Interpolation Kind>
__device__ __forceinline__ float beltOfSpans(const LatticeToResample<D>& r)
{
  return r.extrapolation == Extrapolation::constant ? beltOf(Kind) + r.margin : HUGE_VALF;
}

/// Computes the voxels [first, end) of a lane's run, whose indices are path.at(number). `to` is the first of
/// them and moves on by `stride` bytes a voxel. `Asks` is nothing or everything.
template <int D, Interpolation Kind, Asked Asks>
__device__ __forceinline__ void resampleColumn(const LatticeToResample<D>& r, const Window<D>& window,
                                               const StraightPath<D>& path, int first, int end, float*& to,
                                               std::ptrdiff_t stride)
{
  float number = static_cast<float>(first);
  const auto next = [&] {
    float index[D];
    path.at(number, index);
    resampleAt<D, Kind, Asks>(r, window, index, to);
    number += 1;
    to = moved(to, stride);
  };
  // Few instructions a voxel: without a second counter the loop is shorter. Unrolling would cost registers,
  // and so warps.
  if constexpr (orderOf(Kind) < 2) {
    const float endNumber = static_cast<float>(end);
#pragma unroll 1
    while (number < endNumber)
      next();
  } else {
#pragma unroll 1
    for (int left = end - first; left > 0; --left)
      next();
  }
}

/// resampleColumn for a run at the border: `spans` say which voxels need the checks of the border.
template <int D, Interpolation Kind>
__device__ __forceinline__ void
resampleColumnAtBorder(const LatticeToResample<D>& r, const Window<D>& window, const StraightPath<D>& path,
                       int first, int end, float*& to, std::ptrdiff_t stride, const LaneSpans<D>& spans)
{
  float number = static_cast<float>(first);
#pragma unroll 1
  for (int left = end - first; left > 0; --left) {
    const bool near = spans.near.has(number);
    // With order 1, inner cells take the path of those at the border, see resampleAt.
    bool inside = orderOf(Kind) != 1 && spans.inside.has(number);
    if (orderOf(Kind) > 1 && __any_sync(__activemask(), near && !inside))
      inside = false; // one path for the warp: divergence would cost both
    float index[D];
    path.at(number, index);
    if (inside)
      resampleAt<D, Kind, Asked::nothing>(r, window, index, to);
    else if (near)
      resampleAt<D, Kind, Asked::border>(r, window, index, to);
    else
      *to = r.outside;
    number += 1;
    to = moved(to, stride);
  }
}

/// Computes the voxels [first, end) of a lane's run. A run at the border is cut into parts that are inside
/// for all lanes, and the others.
template <int D, Interpolation Kind, Asked Asks>
__device__ __forceinline__ void resampleVoxels(const LatticeToResample<D>& r, const Window<D>& window,
                                               const StraightPath<D>& path, int first, int end, float*& to,
                                               std::ptrdiff_t stride, const LaneSpans<D>& spans)
{
  if constexpr (Asks != Asked::border) {
    resampleColumn<D, Kind, Asks>(r, window, path, first, end, to, stride);
  } else {
    const int firstInside = static_cast<int>(spans.allInside.first),
              endInside = static_cast<int>(spans.allInside.end);
#pragma unroll 1
    while (first < end) {
      const bool inside = first >= firstInside && first < endInside;
      const int part = inside                                           ? min(end, endInside)
                       : first < firstInside && firstInside < endInside ? min(end, firstInside)
                                                                        : end;
      if (inside)
        resampleColumn<D, Kind, Asked::nothing>(r, window, path, first, part, to, stride);
      else
        resampleColumnAtBorder<D, Kind>(r, window, path, first, part, to, stride, spans);
      first = part;
    }
  }
}

/// Fills a run whose voxels are all mapped outside the image.
template <int D>
__device__ __forceinline__ void fillRun(const LatticeToResample<D>& r, const Run<D>& run)
{
  const std::ptrdiff_t stride = run.stride(r);
  float* to = run.target(r, run.firstNumber);
#pragma unroll 1
  for (int left = run.isInLattice ? run.endNumber - run.firstNumber : 0; left > 0;
       --left, to = moved(to, stride))
    *to = r.outside;
}

/// Calls resample.template operator()<Asked>() with the checks that a run needs, or fills it if it lies
/// outside. `lowest` and `highest` are those of whereRunIs.
template <int D, Interpolation Kind, Form Which, class Resample>
__device__ __forceinline__ void resampleWhere(const LatticeToResample<D>& r, const Run<D>& run,
                                              const MiddleOfRun<D>& middle, float lowest, float highest,
                                              Resample&& resample)
{
  if constexpr (Which == Form::careful) {
    resample.template operator()<Asked::everything>();
  } else {
    const RunIs where = whereRunIs<D>(r, middle, lowest, highest, beltOfSpans<D, Kind>(r));
    if (where == RunIs::inside)
      resample.template operator()<Asked::nothing>();
    else if (where == RunIs::outside)
      fillRun<D>(r, run);
    else
      resample.template operator()<Asked::border>();
  }
}

template <int D>
dim3 blocksFor(const LatticeToResample<D>& r, const RunShape& shape)
{
  const unsigned lanesX = 1u << shape.bitsOfLanesX, lanesY = 32 / lanesX;
  const unsigned length = shape.voxelsALane() * (D == 3 ? 1 : lanesY),
                 runs = ceilDiv<unsigned>(r.endSlice, length) - r.firstSlice / length;
  const unsigned inX = ceilDiv<unsigned>(r.size[0], lanesX);
  if (D == 3)
    return dim3(inX, ceilDiv<unsigned>(r.size[1], lanesY * shape.warps), runs);
  return dim3(inX, ceilDiv<unsigned>(runs, shape.warps), 1);
}

inline dim3 threadsOf(const RunShape& shape)
{
  return dim3(32, shape.warps);
}

}
