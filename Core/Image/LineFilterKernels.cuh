#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Image/LineFilterOnCuda.h"

namespace tessera::linefilter {

// A line is cut into segments of 16 elements, one thread each, which holds them in registers. What comes into a segment from the
// left, s = sum_k pole^k x[first - 1 - k], is a sum over the segments before it: of each only the sum over its own elements is
// needed, times pole^16 for every segment between; behind `reach` segments nothing is left of it in single precision. So a block of
// whole lines reads them once, exchanges sums through shared memory, runs both recursions, and writes once: 8 B an element.
constexpr int segmentLength = 16;
constexpr int mostThreads = 1024;

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
/// y + Re(a state)
__device__ inline float addReal(float a, float state, float y)
{
  return fmaf(a, state, y);
}
__device__ inline float addReal(ComplexFloat a, ComplexFloat state, float y)
{
  return fmaf(a.re, state.re, fmaf(-a.im, state.im, y));
}

/// Of `terms` exponentials; real ones mirror at a line's ends, complex ones continue the end's value.
template <class Number, int terms>
struct Filter {
  static constexpr int count = terms;
  static constexpr bool mirrors = std::is_same_v<Number, float>;
  using Pole = Number;
  struct alignas(sizeof(Number) * terms) State {
    Number of[terms]{};
  };

  Number pole[terms], amplitude[terms], amplitudeAhead[terms]; // times pole: of what comes from the right
  Number ofConstant[terms], segmentPower[terms];               // 1 / (1 - pole), pole^16
  Number power[terms][segmentLength];
};

struct Divisor {
  unsigned value = 1, reciprocal = 0;

  Divisor() = default;
  /// Exact for dividends below 2^32 / value.
  explicit Divisor(unsigned v) : value(v), reciprocal(static_cast<unsigned>((std::uint64_t{1} << 32) / v + 1)) {}
  __device__ unsigned operator()(unsigned dividend) const { return value == 1 ? dividend : __umulhi(dividend, reciprocal); }
};

struct Work {
  const float* in;
  float* out;
  unsigned lineCount, stride; // as LinesOnCuda
  int length;
  int lanes, segments, reach;     // lines and segments a block
  int warmPlaces, placesPerChunk; // elements of a block before those that it writes; those
  Divisor rowLength, keptCount;
  KeptPlaces kept;
  void* chunkStates; // of lines longer than a block: [left, right][chunk][line]; null: there is one chunk
  unsigned chunks;
};

enum class Output { all, kept, chunkStates };

/// Where the element at a place beyond the ends is found.
template <bool mirrors>
__device__ inline int placeWithin(int place, int length)
{
  if constexpr (!mirrors)
    return min(max(place, 0), length - 1);
  const int period = 2 * (length - 1), there = abs(place) % max(period, 1);
  return min(there, period - there);
}

/// Sums of one segment's own elements: what it hands on to the right and to the left.
template <class F>
__device__ inline void sumSegment(const F& filter, const float (&x)[segmentLength], typename F::State& toRight,
                                  typename F::State& toLeft)
{
#pragma unroll
  for (int t = 0; t < F::count; ++t)
#pragma unroll
    for (int k = 0; k < segmentLength; ++k) {
      toRight.of[t] = addScaled(filter.power[t][segmentLength - 1 - k], x[k], toRight.of[t]);
      toLeft.of[t] = addScaled(filter.power[t][k], x[k], toLeft.of[t]);
    }
}

template <class F>
__device__ inline typename F::State passedOn(const F& filter, const typename F::State& through, const typename F::State& own)
{
  typename F::State sum;
#pragma unroll
  for (int t = 0; t < F::count; ++t)
    sum.of[t] = fused(filter.segmentPower[t], through.of[t], own.of[t]);
  return sum;
}

/// Both recursions over one segment, from what comes from the left and from the right.
template <class F>
__device__ inline void filterSegment(const F& filter, const float (&x)[segmentLength], typename F::State left,
                                     typename F::State right, float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k) {
    y[k] = 0;
#pragma unroll
    for (int t = 0; t < F::count; ++t) {
      left.of[t] = advanced(filter.pole[t], left.of[t], x[k]);
      y[k] = addReal(filter.amplitude[t], left.of[t], y[k]);
    }
  }
#pragma unroll
  for (int k = segmentLength - 1; k >= 0; --k)
#pragma unroll
    for (int t = 0; t < F::count; ++t) {
      y[k] = addReal(filter.amplitudeAhead[t], right.of[t], y[k]);
      right.of[t] = advanced(filter.pole[t], right.of[t], x[k]);
    }
}

/// One thread's place in its block and in the volume. Along rows neighbouring threads have neighbouring segments, else neighbouring
/// lines.
template <bool alongRows>
struct Place {
  int lane, segment, first, segmentStep; // first: place of the segment's first element; segmentStep: threads to the next segment
  unsigned line;

  __device__ explicit Place(const Work& work)
  {
    const int thread = static_cast<int>(threadIdx.x);
    segment = alongRows ? thread % work.segments : thread / work.lanes;
    lane = alongRows ? thread / work.segments : thread % work.lanes;
    segmentStep = alongRows ? 1 : work.lanes;
    first = chunkFirst(work) + segment * segmentLength;
    line = blockIdx.x * work.lanes + lane;
  }
  /// Of the block.
  __device__ static int chunkFirst(const Work& work)
  {
    return static_cast<int>(blockIdx.y) * work.placesPerChunk - work.warmPlaces;
  }
  __device__ bool writes(const Work& work) const
  {
    return line < work.lineCount && segment * segmentLength >= work.warmPlaces
           && segment * segmentLength < work.warmPlaces + work.placesPerChunk;
  }
  /// Element 0 of the line in an array of lines of `length`.
  __device__ std::size_t lineStart(const Work& work, int length) const
  {
    const unsigned existing = min(line, work.lineCount - 1), outer = existing / work.stride;
    return static_cast<std::size_t>(outer) * work.stride * length + (existing - outer * work.stride);
  }
};

/// Element e of a block's rows in shared memory: segments start 17 apart, so that a warp meets no bank twice.
__device__ inline int rowSlot(int e)
{
  return e + e / segmentLength;
}

/// Across rows, for what is kept.
__device__ inline int columnSlot(const Work& work, int place, int lane)
{
  return place * work.lanes + lane + place / segmentLength * 16;
}

template <bool mirrors>
__device__ inline void loadAcross(const Work& work, const Place<false>& at, float (&x)[segmentLength])
{
  const float* const line = work.in + at.lineStart(work, work.length);
  if (at.first >= 0 && at.first + segmentLength <= work.length) {
    const float* from = line + static_cast<std::size_t>(at.first) * work.stride;
#pragma unroll
    for (int k = 0; k < segmentLength; ++k)
      x[k] = from[static_cast<std::size_t>(k) * work.stride];
  } else {
#pragma unroll
    for (int k = 0; k < segmentLength; ++k)
      x[k] = line[static_cast<std::size_t>(placeWithin<mirrors>(at.first + k, work.length)) * work.stride];
  }
}

/// Neighbouring threads read neighbouring elements; through shared memory each gets its segment.
template <bool mirrors>
__device__ inline void loadRows(const Work& work, float* tile, float (&x)[segmentLength])
{
  const int first = Place<true>::chunkFirst(work), rowLength = static_cast<int>(work.rowLength.value);
#pragma unroll
  for (int k = 0; k < segmentLength; ++k) {
    const int e = static_cast<int>(k * blockDim.x + threadIdx.x), lane = static_cast<int>(work.rowLength(e));
    const unsigned line = min(blockIdx.x * work.lanes + lane, work.lineCount - 1);
    const int place = first + e - lane * rowLength;
    const bool within = place >= 0 && place < work.length;
    x[k] = work.in[static_cast<std::size_t>(line) * work.length + (within ? place : placeWithin<mirrors>(place, work.length))];
  }
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[rowSlot(static_cast<int>(k * blockDim.x + threadIdx.x))] = x[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    x[k] = tile[threadIdx.x * (segmentLength + 1) + k];
}

__device__ inline void storeRows(const Work& work, float* tile, const float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[threadIdx.x * (segmentLength + 1) + k] = y[k];
  __syncthreads();
  const int first = Place<true>::chunkFirst(work), rowLength = static_cast<int>(work.rowLength.value);
#pragma unroll
  for (int k = 0; k < segmentLength; ++k) {
    const int e = static_cast<int>(k * blockDim.x + threadIdx.x), lane = static_cast<int>(work.rowLength(e));
    const unsigned line = blockIdx.x * work.lanes + lane;
    const int inRow = e - lane * rowLength, place = first + inRow;
    if (line < work.lineCount && inRow >= work.warmPlaces && inRow < work.warmPlaces + work.placesPerChunk && place < work.length)
      work.out[static_cast<std::size_t>(line) * work.length + place] = tile[rowSlot(e)];
  }
}

__device__ inline void storeAcross(const Work& work, const Place<false>& at, const float (&y)[segmentLength])
{
  if (!at.writes(work))
    return;
  float* const to = work.out + at.lineStart(work, work.length) + static_cast<std::size_t>(at.first) * work.stride;
  const int count = min(segmentLength, work.length - at.first);
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    if (k < count)
      to[static_cast<std::size_t>(k) * work.stride] = y[k];
}

/// One kept value from the line that slotOf(place) finds in shared memory.
template <class SlotOf>
__device__ inline float keptValue(const Work& work, const float* tile, int index, SlotOf slotOf)
{
  const int place = static_cast<int>(work.kept.first + work.kept.step * index), last = work.length - 1;
  const float here = tile[slotOf(min(place, last))];
  if (work.kept.weights[1] == 0)
    return work.kept.weights[0] * here;
  return fmaf(work.kept.weights[1], tile[slotOf(min(place + 1, last))], work.kept.weights[0] * here);
}

__device__ inline void storeKeptOfRows(const Work& work, float* tile, const float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[threadIdx.x * (segmentLength + 1) + k] = y[k];
  __syncthreads();
  const int count = static_cast<int>(work.keptCount.value), rowLength = static_cast<int>(work.rowLength.value);
  const unsigned firstLine = blockIdx.x * work.lanes;
  const int lines = static_cast<int>(min(static_cast<unsigned>(work.lanes), work.lineCount - firstLine));
  for (int o = static_cast<int>(threadIdx.x); o < lines * count; o += static_cast<int>(blockDim.x)) {
    const int lane = static_cast<int>(work.keptCount(o));
    work.out[static_cast<std::size_t>(firstLine) * count + o] =
        keptValue(work, tile, o - lane * count, [&](int place) { return rowSlot(lane * rowLength + place); });
  }
}

__device__ inline void storeKeptAcross(const Work& work, const Place<false>& at, float* tile, const float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[columnSlot(work, at.segment * segmentLength + k, at.lane)] = y[k];
  __syncthreads();
  if (at.line >= work.lineCount)
    return;
  const int count = static_cast<int>(work.kept.count);
  float* const to = work.out + at.lineStart(work, count);
  for (int i = at.segment; i < count; i += work.segments)
    to[static_cast<std::size_t>(i) * work.stride] =
        keptValue(work, tile, i, [&](int place) { return columnSlot(work, place, at.lane); });
}

/// Grid (bundles of lines, chunks). Reads and writes each element once; chunkStates reads alone, and writes two states a chunk and
/// line.
template <class F, bool alongRows, Output output>
__global__ void __launch_bounds__(mostThreads) filterLines(const __grid_constant__ F filter, const __grid_constant__ Work work)
{
  using State = typename F::State;
  extern __shared__ __align__(16) unsigned char sharedMemory[];
  State* const toRight = reinterpret_cast<State*>(sharedMemory);
  State* const toLeft = toRight + blockDim.x;
  float* const tile = reinterpret_cast<float*>(toLeft + blockDim.x);

  const Place<alongRows> at(work);
  const int thread = static_cast<int>(threadIdx.x), lastSegment = work.segments - 1;
  float x[segmentLength];
  if constexpr (alongRows)
    loadRows<F::mirrors>(work, tile, x);
  else
    loadAcross<F::mirrors>(work, at, x);

  State left, right;
  State* const chunkStates = static_cast<State*>(work.chunkStates);
  const std::size_t lefts = static_cast<std::size_t>(blockIdx.y) * work.lineCount + min(at.line, work.lineCount - 1);
  const std::size_t rights = lefts + static_cast<std::size_t>(work.chunks) * work.lineCount;
  if constexpr (!F::mirrors && output != Output::chunkStates) {
    if (at.segment == 0)
      for (int t = 0; t < F::count; ++t)
        left.of[t] = chunkStates ? chunkStates[lefts].of[t] : addScaled(filter.ofConstant[t], x[0], {});
    if (at.segment == lastSegment)
      for (int t = 0; t < F::count; ++t)
        right.of[t] = chunkStates ? chunkStates[rights].of[t] : addScaled(filter.ofConstant[t], x[segmentLength - 1], {});
  }
  {
    State ownRight, ownLeft;
    sumSegment(filter, x, ownRight, ownLeft);
    toRight[thread] = passedOn(filter, left, ownRight);
    toLeft[thread] = passedOn(filter, right, ownLeft);
  }
  __syncthreads();
  if constexpr (output == Output::chunkStates) {
    if (at.line < work.lineCount && at.segment == lastSegment) {
      for (int s = 0; s < work.segments; ++s)
        left = passedOn(filter, left, toRight[thread - (lastSegment - s) * at.segmentStep]);
      chunkStates[lefts] = left;
    }
    if (at.line < work.lineCount && at.segment == 0) {
      for (int s = lastSegment; s >= 0; --s)
        right = passedOn(filter, right, toLeft[thread + s * at.segmentStep]);
      chunkStates[rights] = right;
    }
  } else {
    for (int s = min(at.segment, work.reach); s > 0; --s)
      left = passedOn(filter, left, toRight[thread - s * at.segmentStep]);
    for (int s = min(lastSegment - at.segment, work.reach); s > 0; --s)
      right = passedOn(filter, right, toLeft[thread + s * at.segmentStep]);
    float y[segmentLength];
    filterSegment(filter, x, left, right, y);
    if constexpr (output == Output::all && alongRows)
      storeRows(work, tile, y);
    else if constexpr (output == Output::all)
      storeAcross(work, at, y);
    else if constexpr (alongRows)
      storeKeptOfRows(work, tile, y);
    else
      storeKeptAcross(work, at, tile, y);
  }
}

/// A thread a line: from what chunks hand on by themselves to what comes into each, in place.
template <class F>
__global__ void joinChunks(const __grid_constant__ F filter, const __grid_constant__ Work work, typename F::State chunkPower)
{
  using State = typename F::State;
  const unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= work.lineCount)
    return;
  const unsigned outer = line / work.stride;
  const float* const start = work.in + static_cast<std::size_t>(outer) * work.stride * work.length + (line - outer * work.stride);
  State* const lefts = static_cast<State*>(work.chunkStates) + line;
  State* const rights = lefts + static_cast<std::size_t>(work.chunks) * work.lineCount;
  State left, right;
  for (int t = 0; t < F::count; ++t) {
    left.of[t] = addScaled(filter.ofConstant[t], start[0], {});
    right.of[t] = addScaled(filter.ofConstant[t], start[static_cast<std::size_t>(work.length - 1) * work.stride], {});
  }
  const auto passOver = [&](State& at, State& coming) {
    const State own = at;
    at = coming;
    for (int t = 0; t < F::count; ++t)
      coming.of[t] = fused(chunkPower.of[t], coming.of[t], own.of[t]);
  };
  for (unsigned chunk = 0; chunk < work.chunks; ++chunk)
    passOver(lefts[static_cast<std::size_t>(chunk) * work.lineCount], left);
  for (unsigned chunk = work.chunks; chunk-- > 0;)
    passOver(rights[static_cast<std::size_t>(chunk) * work.lineCount], right);
}

}
