#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"

#include <type_traits>

namespace tessera::linefilter {

constexpr int segmentLength = 16;

struct ComplexFloat {
  float re = 0, im = 0;
};

/// a b + c
__device__ inline float fused(float a, float b, float c)
{
  return fmaf(a, b, c);
}
__device__ inline ComplexFloat fused(ComplexFloat a, ComplexFloat b, ComplexFloat c)
{
  return {fmaf(a.re, b.re, fmaf(-a.im, b.im, c.re)), fmaf(a.re, b.im, fmaf(a.im, b.re, c.im))};
}
__device__ inline float advanced(float pole, float state, float x)
{
  return fmaf(pole, state, x);
}
__device__ inline ComplexFloat advanced(ComplexFloat pole, ComplexFloat state, float x)
{
  return {fmaf(pole.re, state.re, fmaf(-pole.im, state.im, x)), fmaf(pole.re, state.im, pole.im * state.re)};
}
__device__ inline float addScaled(float weight, float x, float to)
{
  return fmaf(weight, x, to);
}
__device__ inline ComplexFloat addScaled(ComplexFloat weight, float x, ComplexFloat to)
{
  return {fmaf(weight.re, x, to.re), fmaf(weight.im, x, to.im)};
}
__device__ inline float plus(float a, float b)
{
  return a + b;
}
__device__ inline ComplexFloat plus(ComplexFloat a, ComplexFloat b)
{
  return {a.re + b.re, a.im + b.im};
}
__device__ inline float minus(float a, float b)
{
  return a - b;
}
__device__ inline ComplexFloat minus(ComplexFloat a, ComplexFloat b)
{
  return {a.re - b.re, a.im - b.im};
}
/// y + Re(a state)
__device__ inline float addReal(float a, float state, float y)
{
  return fmaf(a, state, y);
}
__device__ inline float addReal(ComplexFloat a, ComplexFloat state, float y)
{
  return fmaf(a.re, state.re, fmaf(-a.im, state.im, y));
}

/// A filter of `terms` exponentials. Real ones mirror the line at its ends, complex ones continue its last
/// value.
template <class Number, int terms>
struct Filter {
  static constexpr int count = terms;
  static constexpr bool mirrors = std::is_same_v<Number, float>;
  using Pole = Number;
  struct alignas(sizeof(Number) * terms) State {
    Number of[terms]{};
  };

  Number pole[terms], amplitude[terms],
      amplitudeAhead[terms];                     // amplitude * pole, for the state from the right
  Number ofConstant[terms], segmentPower[terms]; // 1 / (1 - pole), pole^16
  Number evenWeight[terms][segmentLength / 2],
      oddWeight[terms][segmentLength / 2]; // (pole^k +- pole^(15 - k)) / 2
};

/// The sums of a segment's own elements that it contributes to the right and to the left. The weights of one
/// are those of the other in reverse order, so that sums and differences of opposite elements need half the
/// products.
template <class F>
__device__ inline void sumSegment(const F& filter, const float (&x)[segmentLength],
                                  typename F::State& toRight, typename F::State& toLeft)
{
  using Number = typename F::Pole;
  Number sum[F::count]{}, difference[F::count]{};
#pragma unroll
  for (int k = 0; k < segmentLength / 2; ++k) {
    const float both = x[k] + x[segmentLength - 1 - k], apart = x[k] - x[segmentLength - 1 - k];
#pragma unroll
    for (int t = 0; t < F::count; ++t) {
      sum[t] = addScaled(filter.evenWeight[t][k], both, sum[t]);
      difference[t] = addScaled(filter.oddWeight[t][k], apart, difference[t]);
    }
  }
#pragma unroll
  for (int t = 0; t < F::count; ++t) {
    toLeft.of[t] = plus(sum[t], difference[t]);
    toRight.of[t] = minus(sum[t], difference[t]);
  }
}

template <class F>
__device__ inline typename F::State passedOn(const F& filter, const typename F::State& through,
                                             const typename F::State& own)
{
  typename F::State sum;
#pragma unroll
  for (int t = 0; t < F::count; ++t)
    sum.of[t] = fused(filter.segmentPower[t], through.of[t], own.of[t]);
  return sum;
}

/// Whether element k of a segment is needed: every element, or the pair in the middle of every `pairStep`
/// elements.
template <int pairStep>
__device__ constexpr bool isAsked(int k)
{
  return pairStep == 0 || k % pairStep == pairStep / 2 - 1 || k % pairStep == pairStep / 2;
}

/// Runs both recursions over a segment, with the states that enter from the left and from the right. Elements
/// that are not needed stay undefined.
template <int pairStep, class F>
__device__ inline void filterSegment(const F& filter, const float (&x)[segmentLength], typename F::State left,
                                     typename F::State right, float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k) {
    y[k] = 0;
#pragma unroll
    for (int t = 0; t < F::count; ++t) {
      left.of[t] = advanced(filter.pole[t], left.of[t], x[k]);
      if (isAsked<pairStep>(k))
        y[k] = addReal(filter.amplitude[t], left.of[t], y[k]);
    }
  }
#pragma unroll
  for (int k = segmentLength - 1; k >= 0; --k) {
#pragma unroll
    for (int t = 0; t < F::count; ++t) {
      if (isAsked<pairStep>(k))
        y[k] = addReal(filter.amplitudeAhead[t], right.of[t], y[k]);
      right.of[t] = advanced(filter.pole[t], right.of[t], x[k]);
    }
  }
}

}
