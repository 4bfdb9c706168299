#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstdint>

namespace tessera {

/// Entries of C that a block moves, and its threads; threads of a block that moves a row by some lanes.
constexpr int entriesAShare = 2048, shareThreads = 256, moverThreads = 256;

/// The last of `rows` rows that begins at `entry` or before, by a warp: each step leaves a 33rd of the rows.
__device__ inline std::uint64_t rowOfEntry(const std::uint64_t* rowStart, std::uint64_t rows,
                                           std::uint64_t entry)
{
  std::uint64_t low = 0, count = rows; // it is one of these
  while (count > 1) {
    const std::uint64_t step = (count + 32) / 33, probe = low + (threadIdx.x % 32 + 1) * step,
                        end = low + count;
    low += __popc(__ballot_sync(~0u, probe < end && rowStart[probe] <= entry)) * step;
    count = end - low < step ? end - low : step;
  }
  return low;
}

/// Rows from scratch memory to their places in C; a block an equal share of the entries of C, whatever the
/// lengths of its rows. What lies behind `room` entries is left out. Reads 20 bytes a row and 4 + sizeof(V)
/// an entry, writes 4 + sizeof(V) an entry.
template <class V>
__global__ void __launch_bounds__(shareThreads)
    moveRows(std::uint64_t rows, const std::uint64_t* rowStart, const std::uint32_t* madeAt,
             std::uint64_t room, const std::uint32_t* fromColumn, const V* fromValue, std::uint32_t* toColumn,
             V* toValue)
{
  constexpr int together = 4; // loads under way
  constexpr long long none = -1ll << 62;
  __shared__ std::uint32_t endOf[shareThreads]; // of each row, from the begin of the share on
  __shared__ long long shift[shareThreads];     // from places in C to places in scratch memory
  __shared__ std::uint64_t rowOfFirst;
  const std::uint64_t begin = blockIdx.x * std::uint64_t{entriesAShare}, total = min(rowStart[rows], room);
  const std::uint64_t end = begin + entriesAShare < total ? begin + entriesAShare : total;
  if (begin >= end)
    return;
  if (threadIdx.x < 32) {
    const std::uint64_t row = rowOfEntry(rowStart, rows, begin);
    if (threadIdx.x == 0)
      rowOfFirst = row;
  }
  __syncthreads();
  const auto entries = static_cast<std::uint32_t>(end - begin);
  std::uint32_t done = 0;
  for (std::uint64_t firstRow = rowOfFirst; done < entries; firstRow += shareThreads) {
    const std::uint64_t row = firstRow + threadIdx.x;
    endOf[threadIdx.x] = entries;
    shift[threadIdx.x] = none;
    if (row < rows) {
      const std::uint64_t startInC = rowStart[row], endInC = rowStart[row + 1];
      const std::uint32_t from = madeAt[row];
      if (endInC < end)
        endOf[threadIdx.x] = static_cast<std::uint32_t>(endInC - begin);
      if (from != notMade)
        shift[threadIdx.x] = static_cast<long long>(from) - static_cast<long long>(startInC);
    }
    __syncthreads();
    const std::uint32_t last = endOf[shareThreads - 1];
    for (std::uint32_t first = done + threadIdx.x; first < last; first += together * shareThreads) {
      std::uint32_t columns[together];
      V values[together];
      bool moves[together];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const std::uint32_t entry = first + u * shareThreads;
        int place = 0; // of the first row that ends behind the entry
#pragma unroll
        for (int half = shareThreads / 2; half > 0; half /= 2)
          place += endOf[place + half - 1] <= entry ? half : 0;
        moves[u] = entry < last && shift[place] != none;
        if (moves[u]) {
          const long long from = static_cast<long long>(begin + entry) + shift[place];
          columns[u] = fromColumn[from];
          values[u] = fromValue[from];
        }
      }
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (moves[u]) {
          toColumn[begin + first + u * shareThreads] = columns[u];
          toValue[begin + first + u * shareThreads] = values[u];
        }
    }
    done = last;
    __syncthreads();
  }
}

/// The same, `Lanes` neighbouring lanes a row: where most rows are not made, or C is small and its rows are
/// short, so that fewer numbers wait for each other. Reads 4 bytes a row, and 16 of those that are made.
template <class V, int Lanes>
__global__ void __launch_bounds__(moverThreads)
    moveEachRow(std::uint64_t rows, const std::uint64_t* rowStart, const std::uint32_t* madeAt,
                std::uint64_t room, const std::uint32_t* fromColumn, const V* fromValue,
                std::uint32_t* toColumn, V* toValue)
{
  const std::uint64_t row = (blockIdx.x * std::uint64_t{moverThreads} + threadIdx.x) / Lanes;
  if (row >= rows)
    return;
  const std::uint64_t from = madeAt[row], start = rowStart[row], end = min(rowStart[row + 1], room);
  if (from == notMade)
    return;
  for (std::uint64_t to = start + threadIdx.x % Lanes; to < end; to += Lanes) {
    toColumn[to] = fromColumn[from + (to - start)];
    toValue[to] = fromValue[from + (to - start)];
  }
}

}
