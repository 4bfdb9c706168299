#pragma once

#include "Components/Resamplers/Shared/OrderedFloats.cuh"
#include "Components/Resamplers/Shared/RunsOfVoxels.cuh"

// Which of a lane's voxels need not be asked about the border of the image, from where they lie along its
// path.
namespace tessera::resampling {

/// Numbers of a lane's voxels: first <= number < end.
struct Span {
  float first, end;

  __device__ __forceinline__ bool has(float number) const { return number >= first && number < end; }
};

/// Voxels of an index by which roundings of up to 128 numbers, and a step of less than slowestStep, may be
/// off.
constexpr float slackOfSpans = 1.0f / 1024, slowestStep = 0x1p-20f;

/// The numbers at which indices along a straight path, start + number * step, lie between two bounds on every
/// axis.
struct Crossings {
  static constexpr float most = 0x1p20f; // more than there are
  float first = -1, last = most;         // not rounded

  __device__ __forceinline__ void between(float low, float high, float start, float oneByStep)
  {
    const float atLow = (low - start) * oneByStep, atHigh = (high - start) * oneByStep;
    first = fmaxf(first, oneByStep > 0 ? atLow : atHigh);
    last = fminf(last, oneByStep > 0 ? atHigh : atLow);
  }
  /// Numbers above `first` and below `last`.
  __device__ __forceinline__ Span within() const
  {
    return {floorf(fminf(first, most)) + 1, ceilf(fmaxf(last, -1.0f))};
  }
};

/// Of a path that lies within `lowest` and `highest` of a straight one on each axis: the numbers whose index
/// is inside an image for sure, from `low` to `high`; and those that may lie less than `belt` outside. For
/// all lanes of a warp, of which those count that have voxels.
template <int D>
struct LaneSpans {
  Span inside, near;
  Span allInside; // for all lanes of the warp

  LaneSpans() = default;

  __device__ __forceinline__ LaneSpans(const float (&start)[D], const float (&step)[D],
                                       const Window<D>& image, const float (&lowest)[D],
                                       const float (&highest)[D], float belt, bool counts)
  {
    Crossings ofInside, ofNear;
    belt += slackOfSpans;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float oneByStep = __fdividef(1, copysignf(fmaxf(fabsf(step[d]), slowestStep), step[d]));
      const float low = image.low[d], high = image.high[d];
      ofInside.between(low - lowest[d] + slackOfSpans, high - highest[d] - slackOfSpans, start[d], oneByStep);
      ofNear.between(low - highest[d] - belt, high - lowest[d] + belt, start[d], oneByStep);
    }
    inside = ofInside.within();
    near = ofNear.within();
    allInside.first = -smallestOfWarp(counts ? -inside.first : 1.0f);
    allInside.end = smallestOfWarp(counts ? inside.end : Crossings::most);
  }
  /// Of numbers that are counted from a later voxel.
  __device__ __forceinline__ LaneSpans from(float number) const
  {
    LaneSpans spans = *this;
    for (Span* span : {&spans.inside, &spans.near, &spans.allInside}) {
      span->first -= number;
      span->end -= number;
    }
    return spans;
  }
};

}
