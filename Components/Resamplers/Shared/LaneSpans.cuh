#pragma once

#include "Components/Resamplers/Shared/OrderedFloats.cuh"
#include "Components/Resamplers/Shared/RunsOfVoxels.cuh"

// Finds the voxels of a lane that need no check of the image's border. They follow from the places where the
// straight path of the lane crosses the border.
namespace tessera::resampling {

/// A range of the numbers of a lane's voxels: first <= number < end.
struct Span {
  float first, end;

  __device__ __forceinline__ bool has(float number) const { return number >= first && number < end; }
};

/// Bound of the errors of an index in voxels: roundings over up to 128 numbers, and steps smaller than
/// slowestStep.
constexpr float slackOfSpans = 1.0f / 1024, slowestStep = 0x1p-20f;

/// The numbers at which the index start + number * step lies between two bounds on every axis.
struct Crossings {
  static constexpr float unbounded = 0x1p20f; // larger than any number
  float first = -1, last = unbounded;         // not rounded

  __device__ __forceinline__ void between(float low, float high, float start, float oneByStep)
  {
    const float atLow = (low - start) * oneByStep, atHigh = (high - start) * oneByStep;
    first = fmaxf(first, oneByStep > 0 ? atLow : atHigh);
    last = fminf(last, oneByStep > 0 ? atHigh : atLow);
  }
  /// The whole numbers above `first` and below `last`.
  __device__ __forceinline__ Span within() const
  {
    return {floorf(fminf(first, unbounded)) + 1, ceilf(fmaxf(last, -1.0f))};
  }
};

/// For a lane's straight path: the numbers whose index is certainly inside the inner cells, and those whose
/// index may lie inside or less than `belt` voxels outside. All lanes of a warp construct it together;
/// `counts` is false for lanes without voxels.
template <int D>
struct LaneSpans {
  Span inside, near;
  Span allInside; // for all lanes of the warp

  LaneSpans() = default;

  __device__ __forceinline__ LaneSpans(const float (&start)[D], const float (&step)[D],
                                       const Window<D>& image, float belt, bool counts)
  {
    Crossings insideCrossings, nearCrossings;
    belt += slackOfSpans;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float oneByStep = __fdividef(1, copysignf(fmaxf(fabsf(step[d]), slowestStep), step[d]));
      const float low = image.low[d], high = image.high[d];
      insideCrossings.between(low + slackOfSpans, high - slackOfSpans, start[d], oneByStep);
      nearCrossings.between(low - belt, high + belt, start[d], oneByStep);
    }
    inside = insideCrossings.within();
    near = nearCrossings.within();
    allInside.first = -smallestOfWarp(counts ? -inside.first : 1.0f);
    allInside.end = smallestOfWarp(counts ? inside.end : Crossings::unbounded);
  }
};

}
