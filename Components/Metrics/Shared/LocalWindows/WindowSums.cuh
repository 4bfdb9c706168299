#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"

// Sums of several quantities over the box around each position of a lattice, in one kernel. The quantities
// are computed from what a source reads, and the sums go to a sink; none of them is stored in global memory.
//
// A block takes a tile of 64 x 16 positions through some slices. For each slice:
//   1. each column of the tile and of its rim gets its sums along the last axis, in shared memory,
//   2. these are summed along x,
//   3. and then along y; each thread hands the sums around its positions to the sink.
// Sums run along each axis: what enters is added and what leaves is subtracted, so the work depends little on
// the radius. Sums of float begin anew every 8 positions, which keeps the rounding of running sums
// at that of plain ones; sums of int are exact.
namespace tessera::windowsums {

constexpr int threads = 256, tileWidth = 64, tileHeight = 16;
constexpr int slicesOfBlock = 32, run = 8; // positions of a running sum
constexpr int heightOfThread = tileHeight / (threads / tileWidth);
constexpr int rowStride = tileWidth + 1; // odd: threads on different rows use different banks

/// The layout of a block's shared memory: sums of columns, then sums along x.
struct Tile {
  int width, height, stride; // with the rim
  int columns, rows;         // numbers of a quantity

  __host__ __device__ explicit Tile(const int3& radius)
      : width(tileWidth + 2 * radius.x), height(tileHeight + 2 * radius.y), stride(width | 1),
        columns(stride * height), rows(rowStride * height)
  {
  }
  std::size_t bytes(int quantities) const
  {
    return sizeof(float) * quantities * static_cast<std::size_t>(columns + rows);
  }
};

/// Source: `Number`, `quantities`, and read(unsigned position, Number (&values)[quantities]).
/// Sink: a `State` of each thread that begins as State{}, take(State&, unsigned position, const Number
/// (&sums)[quantities]), and finish(State), which all threads of a block call.
template <class Source, class Sink>
__global__ void __launch_bounds__(threads)
    sumWindows(int3 size, int3 radius, const __grid_constant__ Source source,
               const __grid_constant__ Sink sink)
{
  using Number = typename Source::Number;
  constexpr int quantities = Source::quantities;
  constexpr bool isExact = static_cast<Number>(0.5f) == 0; // int
  extern __shared__ float memory[];
  Number* const columns = reinterpret_cast<Number*>(memory);
  const Tile tile(radius);
  Number* const rows = columns + quantities * tile.columns;
  const int left = blockIdx.x * tileWidth - radius.x, top = blockIdx.y * tileHeight - radius.y;
  const int firstSlice = blockIdx.z * slicesOfBlock, endSlice = min(firstSlice + slicesOfBlock, size.z);
  const int runOfSlices = isExact ? slicesOfBlock : max(run, 2 * radius.z + 1);
  const auto positionAt = [&](int x, int y, int z) {
    return (static_cast<unsigned>(z) * size.y + y) * size.x + x;
  };
  typename Sink::State state{};

  for (int z = firstSlice; z < endSlice; ++z) {
    const bool anew = (z - firstSlice) % runOfSlices == 0;
    int x = threadIdx.x % tile.width, y = threadIdx.x / tile.width;
    for (int i = threadIdx.x; i < tile.width * tile.height; i += threads) {
      Number* const column = columns + y * tile.stride + x;
      const int atX = left + x, atY = top + y;
      const bool inside = atX >= 0 && atX < size.x && atY >= 0 && atY < size.y;
      Number sums[quantities] = {}, values[quantities];
      if (inside && anew) {
        const int first = max(0, z - radius.z), last = min(size.z - 1, z + radius.z);
        for (int slice = first; slice <= last; ++slice) {
          source.read(positionAt(atX, atY, slice), values);
#pragma unroll
          for (int q = 0; q < quantities; ++q)
            sums[q] += values[q];
        }
      } else if (inside) {
#pragma unroll
        for (int q = 0; q < quantities; ++q)
          sums[q] = column[q * tile.columns];
        const int enters = z + radius.z, leaves = z - radius.z - 1;
        if (enters < size.z) {
          source.read(positionAt(atX, atY, enters), values);
#pragma unroll
          for (int q = 0; q < quantities; ++q)
            sums[q] += values[q];
        }
        if (leaves >= 0) {
          source.read(positionAt(atX, atY, leaves), values);
#pragma unroll
          for (int q = 0; q < quantities; ++q)
            sums[q] -= values[q];
        }
      }
#pragma unroll
      for (int q = 0; q < quantities; ++q)
        column[q * tile.columns] = sums[q];
      for (x += threads; x >= tile.width; x -= tile.width)
        ++y;
    }
    __syncthreads();

    constexpr int runsOfRow = tileWidth / run;
    for (int i = threadIdx.x; i < quantities * runsOfRow * tile.height; i += threads) {
      const int row = i % tile.height, rest = i / tile.height, first = rest % runsOfRow * run,
                q = rest / runsOfRow;
      const Number* const in = columns + q * tile.columns + row * tile.stride + first;
      Number* const out = rows + q * tile.rows + row * rowStride + first;
      const int length = 2 * radius.x + 1;
      Number sum = 0;
      for (int offset = 0; offset < length; ++offset)
        sum += in[offset];
      out[0] = sum;
#pragma unroll
      for (int r = 1; r < run; ++r) {
        sum += in[r + length - 1] - in[r - 1];
        out[r] = sum;
      }
    }
    __syncthreads();

    const int column = threadIdx.x % tileWidth, firstRow = threadIdx.x / tileWidth * heightOfThread;
    const int atX = blockIdx.x * tileWidth + column, length = 2 * radius.y + 1;
    Number sums[quantities] = {};
#pragma unroll
    for (int r = 0; r < heightOfThread; ++r) {
      const Number* const in = rows + (firstRow + r) * rowStride + column;
#pragma unroll
      for (int q = 0; q < quantities; ++q) {
        const Number* const ofQ = in + q * tile.rows;
        if (r > 0) {
          sums[q] += ofQ[(length - 1) * rowStride] - ofQ[-rowStride];
          continue;
        }
        sums[q] = 0;
        for (int offset = 0; offset < length; ++offset)
          sums[q] += ofQ[offset * rowStride];
      }
      const int atY = blockIdx.y * tileHeight + firstRow + r;
      if (atX < size.x && atY < size.y)
        sink.take(state, positionAt(atX, atY, z), sums);
    }
    // The next slice writes columns, which nobody reads now; rows are written after the next barrier.
  }
  sink.finish(state);
}

inline dim3 blocksOf(const int3& size)
{
  return dim3(ceilDiv(size.x, tileWidth), ceilDiv(size.y, tileHeight), ceilDiv(size.z, slicesOfBlock));
}

template <class Source, class Sink>
void launch(const Context& context, const int3& size, const int3& radius, const Source& source,
            const Sink& sink)
{
  const auto kernel = sumWindows<Source, Sink>;
  const std::size_t bytes = Tile(radius).bytes(Source::quantities);
  checkCuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "shared memory for sums over windows");
  kernel<<<blocksOf(size), threads, bytes, cudaStreamOf(context)>>>(size, radius, source, sink);
  checkLaunch("sums over windows");
}

}
