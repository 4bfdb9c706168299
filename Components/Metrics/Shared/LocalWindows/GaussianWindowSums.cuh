#pragma once

#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"
#include "Core/Compute/Cuda/Cuda.cuh"

#include <cuda_pipeline.h>

#include <algorithm>
#include <type_traits>

// Weighted sums of several quantities over the Gaussian window around each position of a lattice, in one
// kernel. Sources and sinks are almost those of WindowSums.cuh, but the kernel reads a source's arrays
// itself.
//
// A block takes a tile of 32 x 8 positions through some slices. For each slice:
//   1. what the source reads is copied to shared memory, two slices ahead,
//   2. each thread computes the quantities of a column, and their sums along y for 4 rows,
//   3. each thread sums one quantity along x, for 8 or 4 positions of a row, and adds these sums, times the
//      weights along the last axis, to those of all windows that reach this slice, which are in its
//      registers,
//   4. each thread hands the sums of the slice whose windows end here to the sink.
// Steps 2, 3 and 4 take neighbouring slices, so that one barrier a slice is enough. Each step computes
// several sums from each number that it reads, and all its loops are unrolled: that is why the radius is a
// constant.
namespace tessera::gaussianwindows {

/// Weights of offsets -Radius to Radius along each axis. Those that a narrower window lacks are 0.
template <int Radius>
struct Weights {
  float ofAxis[3][2 * Radius + 1] = {};

  explicit Weights(const LocalWindow& window)
  {
    for (int d = 0; d < 3; ++d)
      std::copy(window.weights[d].begin(), window.weights[d].end(), ofAxis[d] + Radius - window.radius[d]);
  }
};

constexpr int width = 32, height = 8, rowsOfThread = 4;
constexpr int maxSlicesOfBlock = 64, minSlicesOfBlock = 16;

/// How the threads of a block share its work, and the layout of its shared memory, which has two halves: one
/// is written while the other one is read.
template <int Radius, class Source>
struct Tile {
  static constexpr int quantities = Source::quantities, arrays = Source::arrays;
  /// Sums of a row that a thread computes. They and those of the windows that wait take most of its
  /// registers.
  static constexpr int sumsOfThread = quantities > 3 && Radius <= 6 ? 8 : 4, waiting = 2 * Radius;
  static constexpr int threads = quantities * width * height / sumsOfThread;
  static constexpr int minBlocks = 65536 / (threads * (waiting * sumsOfThread + 32)); // 32 for all else

  static constexpr int rawWidth = width + 2 * Radius, rawHeight = height + 2 * Radius;
  static constexpr int rawRowsAtOnce = threads / rawWidth, raw = rawWidth * rawHeight; // numbers of an array
  static constexpr int margin = ceilDiv(Radius, 4) * 4; // rows begin at a multiple of 4 numbers
  /// With 4 numbers more, the float4 that threads read from two rows are in different banks.
  static constexpr int columnsStride = ceilDiv(width + 2 * margin, 8) * 8 + 4, rowsStride = width + 4;
  static constexpr int columns = columnsStride * height, rows = rowsStride * height; // numbers of a quantity
  static constexpr int half = ceilDiv(arrays * raw, 4) * 4 + quantities * (columns + rows);
  static constexpr std::size_t bytes = 2 * half * sizeof(float);
  static_assert(rawRowsAtOnce > 0 && minBlocks > 0 && threads % 32 == 0);
};

/// Source: `quantities`, `arrays`, array(int), compute(const float (&read)[arrays], float
/// (&values)[quantities]), and `outside`, which stands for what is read outside of the lattice. Sink: as in
/// WindowSums.cuh.
template <int Radius, class Source, class Sink>
__global__ void __launch_bounds__(Tile<Radius, Source>::threads, Tile<Radius, Source>::minBlocks)
    sumGaussianWindows(int3 size, int slicesOfBlock, const __grid_constant__ Weights<Radius> weights,
                       const __grid_constant__ Source source, const __grid_constant__ Sink sink)
{
  using T = Tile<Radius, Source>;
  constexpr int quantities = Source::quantities, arrays = Source::arrays, sumsOfThread = T::sumsOfThread;
  extern __shared__ float4 memory[];
  float* const raw = reinterpret_cast<float*>(memory);
  const int left = blockIdx.x * width, top = blockIdx.y * height, firstSlice = blockIdx.z * slicesOfBlock;
  const int endSlice = min(firstSlice + slicesOfBlock, size.z);
  const int firstRead = max(0, firstSlice - Radius), endRead = min(endSlice + Radius, size.z);
  const auto positionAt = [&](int x, int y, int z) {
    return (static_cast<unsigned>(z) * size.y + y) * size.x + x;
  };
  const auto halfOf = [](int slice) { return (slice & 1) * T::half; };

  // Each thread copies some rows of a column. What is outside of the lattice is written once.
  const int rawColumn = threadIdx.x % T::rawWidth, firstRawRow = threadIdx.x / T::rawWidth;
  const int rawX = left - Radius + rawColumn, firstInside = Radius - top;
  const bool copies = rawX >= 0 && rawX < size.x && firstRawRow < T::rawRowsAtOnce;
  const int endInside = copies ? min(T::rawHeight, size.y + firstInside) : 0;
  for (int i = threadIdx.x; i < arrays * T::raw; i += T::threads)
    raw[i] = raw[T::half + i] = Source::outside;
  __syncthreads();
  const auto copy = [&](int slice) {
    float* to = raw + halfOf(slice) + threadIdx.x;
    unsigned from = positionAt(rawX, firstRawRow - firstInside, slice);
#pragma unroll
    for (int first = 0; first < T::rawHeight; first += T::rawRowsAtOnce) {
      if (firstRawRow + first >= firstInside && firstRawRow + first < endInside) {
#pragma unroll
        for (int a = 0; a < arrays; ++a)
          __pipeline_memcpy_async(to + a * T::raw, source.array(a) + from, sizeof(float));
      }
      to += T::rawRowsAtOnce * T::rawWidth;
      from += T::rawRowsAtOnce * size.x;
    }
    __pipeline_commit();
  };

  float* const columns = raw + ceilDiv(arrays * T::raw, 4) * 4;
  const auto sumAlongY = [&](int slice) {
    for (int i = threadIdx.x; i < T::rawWidth * (height / rowsOfThread); i += T::threads) {
      const int column = i % T::rawWidth, firstRow = i / T::rawWidth * rowsOfThread;
      const float* const in = raw + halfOf(slice) + firstRow * T::rawWidth + column;
      float* const out = columns + halfOf(slice) + firstRow * T::columnsStride + T::margin - Radius + column;
      float sums[rowsOfThread][quantities] = {};
#pragma unroll
      for (int row = 0; row < rowsOfThread + 2 * Radius; ++row) {
        float read[arrays], values[quantities];
#pragma unroll
        for (int a = 0; a < arrays; ++a)
          read[a] = in[a * T::raw + row * T::rawWidth];
        source.compute(read, values);
#pragma unroll
        for (int r = 0; r < rowsOfThread; ++r) {
          if (r > row || r + 2 * Radius < row)
            continue;
#pragma unroll
          for (int q = 0; q < quantities; ++q)
            sums[r][q] = fmaf(weights.ofAxis[1][row - r], values[q], sums[r][q]);
        }
      }
#pragma unroll
      for (int r = 0; r < rowsOfThread; ++r) {
#pragma unroll
        for (int q = 0; q < quantities; ++q)
          out[q * T::columns + r * T::columnsStride] = sums[r][q];
      }
    }
  };

  constexpr int groups = width / sumsOfThread;
  const int group = threadIdx.x % groups, row = threadIdx.x / groups % height,
            quantity = threadIdx.x / (groups * height);
  const float* const in = columns + quantity * T::columns + row * T::columnsStride + group * sumsOfThread;
  float* const rows = columns + quantities * T::columns;
  float* const out = rows + quantity * T::rows + row * T::rowsStride + group * sumsOfThread;
  float waiting[T::waiting][sumsOfThread] = {}; // sums of the windows that end at the next slices
  const auto sumAlongXAndZ = [&](int slice) {
    float sums[sumsOfThread] = {};
    if (slice >= firstRead && slice < endRead) {
      float ofRow[sumsOfThread + 2 * T::margin];
#pragma unroll
      for (int i = 0; i < sumsOfThread + 2 * T::margin; i += 4)
        *reinterpret_cast<float4*>(ofRow + i) = *reinterpret_cast<const float4*>(in + halfOf(slice) + i);
#pragma unroll
      for (int tap = 0; tap <= 2 * Radius; ++tap) {
#pragma unroll
        for (int x = 0; x < sumsOfThread; ++x)
          sums[x] = fmaf(weights.ofAxis[0][tap], ofRow[T::margin - Radius + x + tap], sums[x]);
      }
    }
    float done[sumsOfThread];
#pragma unroll
    for (int x = 0; x < sumsOfThread; ++x) {
      done[x] = fmaf(weights.ofAxis[2][T::waiting], sums[x], waiting[0][x]);
#pragma unroll
      for (int w = 1; w < T::waiting; ++w)
        waiting[w - 1][x] = fmaf(weights.ofAxis[2][T::waiting - w], sums[x], waiting[w][x]);
      waiting[T::waiting - 1][x] = weights.ofAxis[2][0] * sums[x];
    }
#pragma unroll
    for (int x = 0; x < sumsOfThread; x += 4)
      *reinterpret_cast<float4*>(out + halfOf(slice) + x) = *reinterpret_cast<const float4*>(done + x);
  };

  typename Sink::State state{};
  const auto take = [&](int slice) { // the windows that end at this slice
    if (slice - Radius < firstSlice)
      return;
    // The last threads begin, because the first ones have more to do along y.
    for (int i = T::threads - 1 - threadIdx.x; i < width * height; i += T::threads) {
      const int x = i % width, y = i / width;
      float sums[quantities];
#pragma unroll
      for (int q = 0; q < quantities; ++q)
        sums[q] = rows[halfOf(slice) + q * T::rows + y * T::rowsStride + x];
      if (left + x < size.x && top + y < size.y)
        sink.take(state, positionAt(left + x, top + y, slice - Radius), sums);
    }
  };

  copy(firstRead);
#pragma unroll 1
  for (int slice = firstRead - 1; slice < endSlice + Radius; ++slice) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if (slice + 2 < endRead)
      copy(slice + 2);
    if (slice + 1 < endRead)
      sumAlongY(slice + 1);
    sumAlongXAndZ(slice);
    take(slice - 1);
  }
  __syncthreads();
  take(endSlice + Radius - 1);
  sink.finish(state);
}

/// `sinkFor` gets the blocks of the launch and makes the sink.
template <int Radius, class Source, class SinkFor>
void launchWith(const Context& context, const int3& size, const LocalWindow& window, const Source& source,
                const SinkFor& sinkFor)
{
  using T = Tile<Radius, Source>;
  const auto blocksWith = [&](int slices) {
    return dim3(ceilDiv(size.x, width), ceilDiv(size.y, height), ceilDiv(size.z, slices));
  };
  // Blocks repeat 2 Radius slices of their neighbours, but a small lattice must give work to a whole GPU.
  constexpr unsigned blocksOfGpu = 264;
  const auto countWith = [&](int slices) {
    const dim3 blocks = blocksWith(slices);
    return blocks.x * blocks.y * blocks.z;
  };
  int slicesOfBlock = maxSlicesOfBlock;
  while (slicesOfBlock > minSlicesOfBlock && countWith(slicesOfBlock / 2) <= blocksOfGpu)
    slicesOfBlock /= 2;
  const dim3 blocks = blocksWith(slicesOfBlock);
  const auto sink = sinkFor(blocks);
  const auto kernel = sumGaussianWindows<Radius, Source, std::remove_const_t<decltype(sink)>>;
  checkCuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(T::bytes)),
      "shared memory for sums over Gaussian windows");
  kernel<<<blocks, T::threads, T::bytes, cudaStreamOf(context)>>>(size, slicesOfBlock,
                                                                  Weights<Radius>(window), source, sink);
  checkLaunch("sums over Gaussian windows");
}

template <class Source, class SinkFor>
void launch(const Context& context, const int3& size, const LocalWindow& window, const Source& source,
            const SinkFor& sinkFor)
{
  const int radius = std::ranges::max(window.radius);
  if (radius <= 3)
    launchWith<3>(context, size, window, source, sinkFor);
  else if (radius <= 6)
    launchWith<6>(context, size, window, source, sinkFor);
  else if (radius <= 9)
    launchWith<9>(context, size, window, source, sinkFor);
  else if (radius <= 12)
    launchWith<12>(context, size, window, source, sinkFor);
  else
    launchWith<LocalWindow::maxRadiusOnCuda>(context, size, window, source, sinkFor);
}

}
