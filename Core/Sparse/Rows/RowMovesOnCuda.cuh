#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstdint>

namespace tessera {

/// The entries of C that a block of moveRows moves and its number of threads, and the number of threads of
/// moveEachRow.
constexpr int entriesAShare = 2048, shareThreads = 256, moverThreads = 256;

/// The last of `rows` rows that begins at `entry` or before it, by a warp. Each step divides the number of
/// candidate rows by 33.
__device__ inline std::uint64_t rowOfEntry(const std::uint64_t* rowStart, std::uint64_t rows,
                                           std::uint64_t entry)
{
  std::uint64_t low = 0, count = rows; // candidates are rows low .. low + count - 1
  while (count > 1) {
    const std::uint64_t step = (count + 32) / 33, probe = low + (threadIdx.x % 32 + 1) * step,
                        end = low + count;
    low += __popc(__ballot_sync(~0u, probe < end && rowStart[probe] <= entry)) * step;
    count = end - low < step ? end - low : step;
  }
  return low;
}

/// Moves rows from scratch memory to their places in C. Each block moves an equal share of the entries of C,
/// whatever the lengths of its rows. Entries from number `room` on are left out.
/// find the first row of the share; for each shareThreads rows: note where each ends and how far it moves
/// for each entry: find its row by a binary search among these ends, and copy it
/// Memory traffic: reads 20 bytes for each row and 4 + sizeof(V) for each entry; writes 4 + sizeof(V) for
/// each entry.
template <class V>
__global__ void __launch_bounds__(shareThreads)
    moveRows(std::uint64_t rows, const std::uint64_t* rowStart, const std::uint32_t* madeAt,
             std::uint64_t room, const std::uint32_t* fromColumn, const V* fromValue, std::uint32_t* toColumn,
             V* toValue)
{
  constexpr int together = 4; // loads that overlap
  constexpr long long none = -1ll << 62;
  __shared__ std::uint32_t endOf[shareThreads]; // end of each row, relative to the begin of the share
  __shared__ long long shift[shareThreads];     // difference between places in scratch memory and in C
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
        int place = 0; // first row that ends behind the entry
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

/// Moves rows likewise, but `Lanes` neighbouring lanes for each row. This is faster if few rows are in
/// scratch memory, and for a small C of short rows, because fewer loads depend on each other. Memory traffic:
/// reads 4 bytes for each row, and 16 for each row that moves.
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
