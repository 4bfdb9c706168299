#pragma once

#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Filters/LineFilterSegments.cuh"

namespace tessera::linefilter {

// A line is cut into segments of 16 elements. One thread holds a segment in registers. The state that enters
// a segment from the left, s = sum_k pole^k x[first - 1 - k], is the sum of the contributions of the segments
// before it. Each contributes the sum over its own elements, times pole^16 for every segment between. Beyond
// `reach` segments a contribution is below single precision. So a block of whole lines reads them once,
// exchanges these sums through shared memory, runs both recursions, and writes once: 8 bytes of traffic an
// element.
constexpr int maxThreads = 1024;
constexpr int threadsOfTwoBlocks =
    576; // 16 lines of 32 segments, and 2 more at each end: a multiprocessor runs two such blocks

struct Work {
  const float* in;
  float* out;
  unsigned lineCount, stride; // see LinesOnCuda
  int length;
  int lanes, segments, reach;     // lines of a block, segments of a line
  int warmPlaces, placesPerChunk; // elements that a block only reads before its chunk; elements of a chunk
  KeptPlaces kept;
  void* chunkStates; // [left, right][chunk][line] for lines longer than a block; null: there is one chunk
  unsigned chunks;
};

enum class Output { all, kept, chunkStates };

/// The element that stands for a place beyond the ends of a line.
template <bool mirrors>
__device__ inline int placeWithin(int place, int length)
{
  if constexpr (!mirrors)
    return min(max(place, 0), length - 1);
  const int period = 2 * (length - 1), there = abs(place) % max(period, 1);
  return min(there, period - there);
}

/// The place of a thread in its block and in the volume. Along rows, neighbouring threads have neighbouring
/// segments; along other axes, neighbouring lines.
template <bool alongRows>
struct Place {
  int lane, segment, first,
      segmentStep; // first: place of the segment's first element; segmentStep: threads to the next segment
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
  /// The first place of the block's chunk.
  __device__ static int chunkFirst(const Work& work)
  {
    return static_cast<int>(blockIdx.y) * work.placesPerChunk - work.warmPlaces;
  }
  __device__ bool writes(const Work& work) const
  {
    return line < work.lineCount && segment * segmentLength >= work.warmPlaces
           && segment * segmentLength < work.warmPlaces + work.placesPerChunk;
  }
  /// The index of element 0 of the line in an array of lines of this length.
  __device__ std::size_t lineStart(const Work& work, int length) const
  {
    const unsigned existing = min(line, work.lineCount - 1), outer = existing / work.stride;
    return static_cast<std::size_t>(outer) * work.stride * length + (existing - outer * work.stride);
  }
};

/// The slot of element e of a block's rows in shared memory. Segments start 17 slots apart, so that a warp
/// has no bank conflicts.
__device__ inline int rowSlot(int e)
{
  return e + e / segmentLength;
}

/// The slot of a place when lines run across rows, for values that are kept.
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

/// Loads rows: the threads read consecutive elements, and each gets its segment through shared memory.
template <bool mirrors>
__device__ inline void loadRows(const Work& work, const Place<true>& at, float* tile,
                                float (&x)[segmentLength])
{
  const int first = Place<true>::chunkFirst(work), rowLength = work.segments * segmentLength;
  const float* const row = work.in + static_cast<std::size_t>(min(at.line, work.lineCount - 1)) * work.length;
  if (first >= 0 && first + rowLength <= work.length) {
    const float* const from = row + first + at.segment;
#pragma unroll
    for (int k = 0; k < segmentLength; ++k)
      x[k] = from[k * work.segments];
  } else {
#pragma unroll
    for (int k = 0; k < segmentLength; ++k)
      x[k] = row[placeWithin<mirrors>(first + at.segment + k * work.segments, work.length)];
  }
  const int e = at.lane * rowLength + at.segment;
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[rowSlot(e + k * work.segments)] = x[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    x[k] = tile[threadIdx.x * (segmentLength + 1) + k];
}

__device__ inline void putRows(float* tile, const float (&y)[segmentLength])
{
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    tile[threadIdx.x * (segmentLength + 1) + k] = y[k];
  __syncthreads();
}

__device__ inline void storeRows(const Work& work, const Place<true>& at, float* tile,
                                 const float (&y)[segmentLength])
{
  putRows(tile, y);
  if (at.line >= work.lineCount)
    return;
  const int first = Place<true>::chunkFirst(work), rowLength = work.segments * segmentLength,
            e = at.lane * rowLength;
  const int end = min(work.warmPlaces + work.placesPerChunk,
                      work.length - first); // end of the written elements in the row
  float* const to = work.out + static_cast<std::size_t>(at.line) * work.length + first;
#pragma unroll
  for (int k = 0; k < segmentLength; ++k) {
    const int place = at.segment + k * work.segments;
    if (place >= work.warmPlaces && place < end)
      to[place] = tile[rowSlot(e + place)];
  }
}

__device__ inline void storeAcross(const Work& work, const Place<false>& at, const float (&y)[segmentLength])
{
  if (!at.writes(work))
    return;
  float* const to =
      work.out + at.lineStart(work, work.length) + static_cast<std::size_t>(at.first) * work.stride;
  const int count = min(segmentLength, work.length - at.first);
#pragma unroll
  for (int k = 0; k < segmentLength; ++k)
    if (k < count)
      to[static_cast<std::size_t>(k) * work.stride] = y[k];
}

template <int pairStep>
__device__ inline float pairValue(const Work& work, const float (&y)[segmentLength], int i)
{
  const int k = i * pairStep + pairStep / 2 - 1;
  return fmaf(work.kept.weights[1], y[k + 1], work.kept.weights[0] * y[k]);
}

/// One kept value of a line in shared memory; slotOf(place) is the slot of an element.
template <class SlotOf>
__device__ inline float keptValue(const Work& work, const float* tile, int index, SlotOf slotOf)
{
  const int place = static_cast<int>(work.kept.first + work.kept.step * index), last = work.length - 1;
  const float here = tile[slotOf(min(place, last))];
  if (work.kept.weights[1] == 0)
    return work.kept.weights[0] * here;
  return fmaf(work.kept.weights[1], tile[slotOf(min(place + 1, last))], work.kept.weights[0] * here);
}

__device__ inline void storeKeptOfRows(const Work& work, const Place<true>& at, float* tile,
                                       const float (&y)[segmentLength])
{
  putRows(tile, y);
  if (at.line >= work.lineCount)
    return;
  const int count = static_cast<int>(work.kept.count), e = at.lane * work.segments * segmentLength;
  float* const to = work.out + static_cast<std::size_t>(at.line) * count;
  for (int i = at.segment; i < count; i += work.segments)
    to[i] = keptValue(work, tile, i, [&](int place) { return rowSlot(e + place); });
}

__device__ inline void storeKeptAcross(const Work& work, const Place<false>& at, float* tile,
                                       const float (&y)[segmentLength])
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

/// Writes the kept values if each segment holds both elements of its kept values.
template <int pairStep>
__device__ inline void storePairs(const Work& work, const Place<false>& at, float*,
                                  const float (&y)[segmentLength])
{
  constexpr int perSegment = segmentLength / pairStep;
  if (at.line >= work.lineCount)
    return;
  const int count = static_cast<int>(work.kept.count), first = at.segment * perSegment;
  float* const to = work.out + at.lineStart(work, count) + static_cast<std::size_t>(first) * work.stride;
#pragma unroll
  for (int i = 0; i < perSegment; ++i)
    if (first + i < count)
      to[static_cast<std::size_t>(i) * work.stride] = pairValue<pairStep>(work, y, i);
}
template <int pairStep>
__device__ inline void storePairs(const Work& work, const Place<true>& at, float* tile,
                                  const float (&y)[segmentLength])
{
  constexpr int perSegment = segmentLength / pairStep;
#pragma unroll
  for (int i = 0; i < perSegment; ++i)
    tile[threadIdx.x * (perSegment + 1) + i] = pairValue<pairStep>(work, y, i);
  __syncthreads();
  if (at.line >= work.lineCount)
    return;
  const int count = static_cast<int>(work.kept.count), e = at.lane * work.segments * perSegment;
  float* const to = work.out + static_cast<std::size_t>(at.line) * count;
#pragma unroll
  for (int k = 0; k < perSegment; ++k) {
    const int i = at.segment + k * work.segments;
    if (i < count)
      to[i] = tile[e + i + (e + i) / perSegment];
  }
}

/// A sum of exponentials along lines, y[n] = sum over terms of Re(amplitude sum over k of pole^|k| x[n + k])
/// (ExponentialFilter.h), as B-spline prefilters and recursive Gaussians are. For each segment of a thread:
///
///   own = sums of the segment's elements, which it contributes to both sides
///   left = sum over the segments before it of pole^distance own; right = the same for those behind it
///   for each element from left to right: left = pole left + x[n];   y[n] = Re(amplitude left)
///   for each element from right to left: y[n] += Re(amplitude pole right);   right = pole right + x[n]
///
/// The launch's grid is (bundles of lines, chunks). Each element is read and written once. With
/// Output::chunkStates the kernel only reads, and writes two states for each chunk and line. `pairStep` is
/// the distance of kept places if segments hold both elements of each, else 0.
template <class F, bool alongRows, Output output, int pairStep = 0, int threads = maxThreads>
__global__ void __launch_bounds__(threads, threads > threadsOfTwoBlocks ? 1 : 2)
    filterLines(const __grid_constant__ F filter, const __grid_constant__ Work work)
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
    loadRows<F::mirrors>(work, at, tile, x);
  else
    loadAcross<F::mirrors>(work, at, x);

  State left, right;
  State* const chunkStates = static_cast<State*>(work.chunkStates);
  const std::size_t lefts =
      static_cast<std::size_t>(blockIdx.y) * work.lineCount + min(at.line, work.lineCount - 1);
  const std::size_t rights = lefts + static_cast<std::size_t>(work.chunks) * work.lineCount;
  if constexpr (!F::mirrors && output != Output::chunkStates) {
    if (at.segment == 0)
      for (int t = 0; t < F::count; ++t)
        left.of[t] = chunkStates ? chunkStates[lefts].of[t] : addScaled(filter.ofConstant[t], x[0], {});
    if (at.segment == lastSegment)
      for (int t = 0; t < F::count; ++t)
        right.of[t] = chunkStates ? chunkStates[rights].of[t]
                                  : addScaled(filter.ofConstant[t], x[segmentLength - 1], {});
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
    filterSegment<pairStep>(filter, x, left, right, y);
    if constexpr (pairStep > 0)
      storePairs<pairStep>(work, at, tile, y);
    else if constexpr (output == Output::all && alongRows)
      storeRows(work, at, tile, y);
    else if constexpr (output == Output::all)
      storeAcross(work, at, y);
    else if constexpr (alongRows)
      storeKeptOfRows(work, at, tile, y);
    else
      storeKeptAcross(work, at, tile, y);
  }
}

/// One thread a line: replaces the states that the chunks contribute by those that enter each chunk.
template <class F>
__global__ void joinChunks(const __grid_constant__ F filter, const __grid_constant__ Work work,
                           typename F::State chunkPower)
{
  using State = typename F::State;
  const unsigned line = blockIdx.x * blockDim.x + threadIdx.x;
  if (line >= work.lineCount)
    return;
  const unsigned outer = line / work.stride;
  const float* const start =
      work.in + static_cast<std::size_t>(outer) * work.stride * work.length + (line - outer * work.stride);
  State* const lefts = static_cast<State*>(work.chunkStates) + line;
  State* const rights = lefts + static_cast<std::size_t>(work.chunks) * work.lineCount;
  State left, right;
  for (int t = 0; t < F::count; ++t) {
    left.of[t] = addScaled(filter.ofConstant[t], start[0], {});
    right.of[t] =
        addScaled(filter.ofConstant[t], start[static_cast<std::size_t>(work.length - 1) * work.stride], {});
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
