#pragma once

#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"
#include "Components/Metrics/Shared/LocalWindows/WindowSums.cuh"
#include "Core/Compute/Math/WithConstant.h"

// The sums of WindowSums.cuh over boxes that reach equally few positions along x and y, by warps that share
// no memory. Sources and sinks are the same.
//
// The lanes of a warp are 32 columns along x. A lane holds, for `height` + 2 `radius` rows, the sums along
// the last axis in registers. For each slice it adds what enters these sums and subtracts what leaves, sums
// the rows along y, and adds the sums of the lanes beside it. The last 2 `radius` lanes have no whole window.
namespace tessera::smallwindows {

constexpr int warpsOfBlock = 4, slicesOfBlock = 32;

template <int Radius>
constexpr int widthOfWarp = 32 - 2 * Radius;

/// The sum of the values of `Width` lanes from this one on.
template <int Width, class Number>
__device__ __forceinline__ Number sumOfLanes(Number value)
{
  Number sum = Width % 2 == 1 ? value : 0, ofPower = value;
  int summed = Width % 2;
#pragma unroll
  for (int power = 2; power <= Width; power *= 2) {
    ofPower += __shfl_down_sync(~0u, ofPower, power / 2);
    if ((Width & power) == 0)
      continue;
    sum += summed == 0 ? ofPower : __shfl_down_sync(~0u, ofPower, summed);
    summed += power;
  }
  return sum;
}

template <int Radius, int Height, int MinBlocks, class Source, class Sink>
__global__ void __launch_bounds__(32 * warpsOfBlock, MinBlocks)
    sumSmallWindows(int3 size, int radiusOfSlices, const __grid_constant__ Source source,
                    const __grid_constant__ Sink sink)
{
  using Number = typename Source::Number;
  constexpr int quantities = Source::quantities, rows = Height + 2 * Radius;
  constexpr bool isExact = static_cast<Number>(0.5f) == 0; // int
  const int lane = threadIdx.x % 32, x = blockIdx.x * widthOfWarp<Radius> + lane;
  // Broadcast, so that the compiler knows that it is the same for a warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x / 32), 0);
  const int firstRow = (static_cast<int>(blockIdx.y) * warpsOfBlock + warp) * Height;
  const int firstSlice = blockIdx.z * slicesOfBlock;
  const int endSlice = firstRow < size.y ? min(firstSlice + slicesOfBlock, size.z) : firstSlice;
  const int runOfSlices = isExact ? slicesOfBlock : max(windowsums::run, 2 * radiusOfSlices + 1);
  const int column = x - Radius; // whose sums this lane holds
  // One bit a row: whether this lane's column has a position there.
  const unsigned allRows = (1u << rows) - 1, above = allRows << max(0, Radius - firstRow),
                 below = allRows >> min(31, max(0, firstRow + Height + Radius - size.y));
  const unsigned rowsInside = column >= 0 && column < size.x ? above & below & allRows : 0;
  const bool hasWindow = lane < widthOfWarp<Radius> && x < size.x;
  const auto positionAt = [&](int atX, int y, int z) {
    return (static_cast<unsigned>(z) * size.y + y) * size.x + atX;
  };
  typename Sink::State state{};
  Number columns[rows][quantities] = {};

  const auto add = [&]<bool Takes>(unsigned entering, int enters, unsigned leaving, int leaves) {
    unsigned in = positionAt(column, firstRow - Radius, enters),
             out = positionAt(column, firstRow - Radius, leaves);
#pragma unroll
    for (int row = 0; row < rows; ++row, in += size.x, out += size.x) {
      Number added[quantities], taken[quantities];
      source.read(in, added, (entering >> row & 1) != 0);
      if constexpr (Takes)
        source.read(out, taken, (leaving >> row & 1) != 0);
#pragma unroll
      for (int q = 0; q < quantities; ++q)
        columns[row][q] += Takes ? added[q] - taken[q] : added[q];
    }
  };

#pragma unroll 1
  for (int z = firstSlice; z < endSlice; ++z) {
    if ((z - firstSlice) % runOfSlices == 0) {
#pragma unroll
      for (int row = 0; row < rows; ++row) {
#pragma unroll
        for (int q = 0; q < quantities; ++q)
          columns[row][q] = 0;
      }
      const int first = max(0, z - radiusOfSlices), last = min(size.z - 1, z + radiusOfSlices);
#pragma unroll 1
      for (int slice = first; slice <= last; ++slice)
        add.template operator()<false>(rowsInside, slice, 0, slice);
    } else {
      const int enters = z + radiusOfSlices, leaves = z - radiusOfSlices - 1;
      add.template operator()<true>(enters < size.z ? rowsInside : 0, enters, leaves >= 0 ? rowsInside : 0,
                                    leaves);
    }

    Number sums[quantities] = {};
#pragma unroll
    for (int row = 0; row < 2 * Radius; ++row) {
#pragma unroll
      for (int q = 0; q < quantities; ++q)
        sums[q] += columns[row][q];
    }
#pragma unroll
    for (int row = 0; row < Height; ++row) {
      Number ofWindow[quantities];
#pragma unroll
      for (int q = 0; q < quantities; ++q) {
        if (isExact || row == 0)
          sums[q] += columns[row + 2 * Radius][q];
        else { // floats are added anew
          sums[q] = columns[row][q];
#pragma unroll
          for (int r = 1; r <= 2 * Radius; ++r)
            sums[q] += columns[row + r][q];
        }
        ofWindow[q] = sumOfLanes<2 * Radius + 1>(sums[q]);
        if (isExact)
          sums[q] -= columns[row][q];
      }
      if (hasWindow && firstRow + row < size.y)
        sink.take(state, positionAt(x, firstRow + row, z), ofWindow);
    }
  }
  sink.finish(state);
}

template <int Radius, int Height>
dim3 blocksOf(const int3& size)
{
  return dim3(ceilDiv(size.x, widthOfWarp<Radius>), ceilDiv(size.y, Height * warpsOfBlock),
              ceilDiv(size.z, slicesOfBlock));
}

template <int Radius, int Height, int MinBlocks, class Source, class Sink>
void launch(const Context& context, const int3& size, int radiusOfSlices, const Source& source,
            const Sink& sink)
{
  sumSmallWindows<Radius, Height, MinBlocks, Source, Sink>
      <<<blocksOf<Radius, Height>(size), 32 * warpsOfBlock, 0, cudaStreamOf(context)>>>(size, radiusOfSlices,
                                                                                        source, sink);
  checkLaunch("sums over small windows");
}

/// Calls work.operator()<Radius>() for a window of these kernels; returns whether it is one.
template <class Work>
bool ifSmall(const LocalWindow& window, const Work& work)
{
  const int radius = window.radius[0];
  if (!window.isBox() || radius != window.radius[1] || radius < 1 || radius > 3)
    return false;
  withConstant<1, 3>(radius, work);
  return true;
}

}
