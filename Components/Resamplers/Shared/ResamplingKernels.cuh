#pragma once

#include "Components/Resamplers/Shared/LaneSpans.cuh"
#include "Components/Resamplers/Shared/ResamplingValues.cuh"
#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/Samples/FixedPointIndex.h"

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
__device__ __noinline__ void resampleCarefully(const LatticeToResample<D>& r, SplineCell<D> cell, float* to,
                                               bool isSure)
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

/// An index beyond the border as one between: the nearest, or mirrored. Returns how far beyond it was, on the
/// axis where that was most; 0 between. In the image's last cell it may be its end.
template <int D>
__device__ __forceinline__ float fold(const LatticeToResample<D>& r, const Window<D>& window,
                                      float (&index)[D])
{
  float past[D], most = 0;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const float nearest = fminf(fmaxf(index[d], window.low[d]), window.high[d]);
    past[d] = index[d] - nearest;
    most = fmaxf(most, fabsf(past[d]));
    index[d] = nearest;
  }
  if (!r.image.repeatsBorder) {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] -= past[d];
  }
  return most;
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

/// What kernels are made for, so that they need few registers and go by many warps.
enum class Form {
  plain,     // LatticeToResample::hasPlainValues
  lookAhead, // and voxels that a run reads later are asked for, see LatticeToResample::voxelsAhead
  careful    // all else
};

/// Calls function.template operator()<Kind, Form>() for what is asked for.
template <int D, bool MayLookAhead, class Function>
void withForm(const LatticeToResample<D>& r, Function&& function)
{
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    if constexpr (MayLookAhead && D == 3 && Kind == Interpolation::order1)
      if (r.hasPlainValues && r.voxelsAhead != 0)
        return function.template operator()<Kind, Form::lookAhead>();
    if constexpr (Kind != Interpolation::labelMajority)
      if (r.hasPlainValues)
        return function.template operator()<Kind, Form::plain>();
    function.template operator()<Kind, Form::careful>();
  });
}

/// One voxel at an index of the window.
template <int D, Interpolation Kind, Asked Asks, bool LooksAhead = false>
__device__ __forceinline__ void resampleAt(const LatticeToResample<D>& r, const Window<D>& window,
                                           float (&index)[D], float* to, bool isSure = true,
                                           bool asksAhead = false)
{
  constexpr int Order = orderOf(Kind);
  CellBits<D> cell(index);
  if constexpr (Asks == Asked::everything) {
    resampleCarefully<D, Kind>(r, cell.inImage(window), to, isSure);
  } else if constexpr (Asks == Asked::nothing) {
    const float* const corner = keptWhole(cell.corner(r, window));
    if constexpr (LooksAhead)
      if (asksAhead)
        prefetchVoxel(corner + r.voxelsAhead);
    *to = cell.template value<Order>(r, corner);
    if (Order == 0 && !cell.isNearest(r.margin))
      markUnsure<D>(r, to);
  } else if constexpr (Order == 1) { // inner cells and others by one way: a warp whose lanes go by two takes
                                     // the time of both
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

/// A lane's voxels from `to` on, which moves, `stride` bytes apart, at path.at(number, index) for the numbers
/// in [first, end), of which none is asked about the border, or all about everything. `later`: voxels of the
/// lane's run after those, which are inside, too.
template <int D, Interpolation Kind, Form Which, Asked Asks, class Path>
__device__ __forceinline__ void resampleColumn(const LatticeToResample<D>& r, const Window<D>& window,
                                               const Path& path, int first, int end, float*& to,
                                               std::ptrdiff_t stride, int later)
{
  constexpr bool looksAhead = Which == Form::lookAhead && Asks == Asked::nothing;
  float number = static_cast<float>(first);
  const auto next = [&](bool asksAhead) {
    float index[D];
    path.at(number, index);
    resampleAt<D, Kind, Asks, looksAhead>(r, window, index, to, true, asksAhead);
    number += 1;
    to = moved(to, stride);
  };
  // one number fewer to count, where there are few instructions a voxel; more voxels under way would cost
  // warps
  if constexpr (orderOf(Kind) < 2) {
    const float endNumber = static_cast<float>(end),
                endAsking = static_cast<float>(end + later - numbersAhead);
#pragma unroll 1
    while (number < endNumber)
      next(number < endAsking);
  } else {
#pragma unroll 1
    for (int left = end - first; left > 0; --left)
      next(false);
  }
}

/// The same where the border is asked about for voxels near it; `spans`: of these numbers.
template <int D, Interpolation Kind, class Path>
__device__ __forceinline__ void resampleColumnAtBorder(const LatticeToResample<D>& r, const Window<D>& window,
                                                       const Path& path, int first, int end, float*& to,
                                                       std::ptrdiff_t stride, const LaneSpans<D>& spans)
{
  float number = static_cast<float>(first);
#pragma unroll 1
  for (int left = end - first; left > 0; --left) {
    const bool near = spans.near.has(number);
    bool inside = orderOf(Kind) != 1
                  && spans.inside.has(number); // of order 1, inner cells go the way of those at the border
    if (orderOf(Kind) > 1 && __any_sync(__activemask(), near && !inside))
      inside = false; // all together: both ways would take both times
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

/// A lane's voxels: as above, in parts where the run is at the border.
template <int D, Interpolation Kind, Form Which, Asked Asks, class Path>
__device__ __forceinline__ void resampleVoxels(const LatticeToResample<D>& r, const Window<D>& window,
                                               const Path& path, int first, int end, float*& to,
                                               std::ptrdiff_t stride, const LaneSpans<D>& spans, int later)
{
  if constexpr (Asks != Asked::border) {
    resampleColumn<D, Kind, Which, Asks>(r, window, path, first, end, to, stride, later);
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
        resampleColumn<D, Kind, Which, Asked::nothing>(r, window, path, first, part, to, stride,
                                                       min(later + end, endInside) - part);
      else
        resampleColumnAtBorder<D, Kind>(r, window, path, first, part, to, stride, spans);
      first = part;
    }
  }
}

/// A run whose voxels are all mapped outside the image.
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

/// Calls resample.template operator()<Asked>() for a run, or fills it if it lies outside. See whereRunIs.
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
