#pragma once

#include "Core/Sparse/Rows/RowGroup.cuh"

namespace tessera {

/// Where columns of a row have a slot of shared memory: open addressing. There are more slots than columns.
struct ColumnTable {
  static constexpr int none = -1, slotsABlock = 32;

  int* column; // none: an empty slot
  int slots;   // a multiple of slotsABlock

  /// Slots for so many columns.
  static int slotsFor(int columns) { return ceilDiv(columns + columns / 2 + 1, slotsABlock) * slotsABlock; }

  /// The slot of a column, which is taken if there is none yet. Neighbouring columns have neighbouring slots,
  /// so that they do not meet in a bank.
  __device__ int find(int wanted, bool& isNew) const
  {
    const unsigned hash = (static_cast<unsigned>(wanted) / slotsABlock)
                          * 0x9e3779b1u; // Fibonacci hashing (Knuth, volume 3, 6.4)
    int slot = static_cast<int>(__umulhi(hash, static_cast<unsigned>(slots / slotsABlock)) * slotsABlock
                                + ((static_cast<unsigned>(wanted) + (hash >> 11)) & (slotsABlock - 1)));
    while (true) {
      int found = *static_cast<volatile int*>(column + slot);
      if (found == none)
        found = atomicCAS(column + slot, none, wanted);
      isNew = found == none;
      if (isNew || found == wanted)
        return slot;
      slot += slotsABlock; // whole words of columns may meet: the next block, after the last one the next
                           // slot of the first
      if (slot >= slots)
        slot -= slots - 1;
    }
  }
};

/// Where columns of a row stand in order: bits in two levels, words of columns and words of words that have
/// any; in shared memory.
struct ColumnRanks {
  unsigned *top, *words;
  std::uint16_t *topBefore, *before;
  int lowest = 0;

  static __host__ __device__ std::size_t bytes(int words)
  {
    return words * (sizeof(unsigned) + sizeof(std::uint16_t));
  }

  /// In bytes(mostWords + mostTopWords) of shared memory.
  __device__ void layOut(unsigned* memory, int mostWords, int mostTopWords)
  {
    top = memory;
    words = top + mostTopWords;
    topBefore = reinterpret_cast<std::uint16_t*>(words + mostWords);
    before = topBefore + mostTopWords;
  }

  __device__ int wordOf(int column) const
  {
    const int word = (column - lowest) / columnsAWord;
    return topBefore[word >> 5] + __popc(top[word >> 5] & bitsBefore(word));
  }
  __device__ int rankOf(int column) const
  {
    const int word = wordOf(column);
    return before[word] + __popc(words[word] & bitsBefore(column)); // the lowest column is a multiple of 32
  }

  /// Fills all for the columns of forColumns(body), which calls body(column) for a share of them by each
  /// thread; returns how many there are. `low` and `high` are the least and the largest that this thread has.
  /// The whole group calls it.
  template <class ForColumns>
  __device__ __forceinline__ int fill(const RowGroup& group, int low, int high, int* scratch,
                                      ForColumns&& forColumns)
  {
    low = warpMinimum(low);
    high = warpMaximum(high);
    if (group.threads > 32) {
      if (group.rank == 0) {
        scratch[0] = low;
        scratch[1] = high;
      }
      __syncthreads();
      if (group.rank % 32 == 0) {
        atomicMin(scratch, low);
        atomicMax(scratch + 1, high);
      }
      __syncthreads();
      low = scratch[0];
      high = scratch[1];
    }
    lowest = low / columnsATopWord * columnsATopWord;
    const int topWords = (high - lowest) / columnsATopWord + 1;
    const auto clear = [&](unsigned* bits, int count) {
      for (int i = group.rank; i < count; i += group.threads)
        bits[i] = 0;
      group.sync();
    };
    clear(top, topWords);
    forColumns([&](int column) { setBit(top, (column - lowest) / columnsAWord); });
    group.sync();
    const int wordCount = rankBits(group, top, topBefore, topWords, scratch + 2);
    clear(words, wordCount);
    forColumns([&](int column) { setBit(words + wordOf(column), column % columnsAWord); });
    group.sync();
    return rankBits(group, words, before, wordCount, scratch + 2);
  }
};

}
