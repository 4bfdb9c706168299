#pragma once

#include "Core/Sparse/Rows/RowGroup.cuh"

namespace tessera {

/// A hash table in shared memory that gives each column of a row a slot of its own (open addressing). It must
/// have more slots than the row has columns.
struct ColumnTable {
  static constexpr int none = -1, slotsABlock = 32;

  int* column; // one for each slot; `none` if the slot is empty
  int slots;   // number of slots, a multiple of slotsABlock

  /// The number of slots for so many columns.
  static int slotsFor(int columns) { return ceilDiv(columns + columns / 2 + 1, slotsABlock) * slotsABlock; }

  /// The slot of a column. A column that has none takes an empty one, and isNew becomes true. Neighbouring
  /// columns get neighbouring slots, which lie in different banks.
  __device__ int find(int wanted, bool& isNew) const
  {
    const unsigned hash = (static_cast<unsigned>(wanted) / slotsABlock)
                          * 0x9e3779b1u; // Fibonacci hashing: Knuth, volume 3, section 6.4
    int slot = static_cast<int>(__umulhi(hash, static_cast<unsigned>(slots / slotsABlock)) * slotsABlock
                                + ((static_cast<unsigned>(wanted) + (hash >> 11)) & (slotsABlock - 1)));
    while (true) {
      int found = *static_cast<volatile int*>(column + slot);
      if (found == none)
        found = atomicCAS(column + slot, none, wanted);
      isNew = found == none;
      if (isNew || found == wanted)
        return slot;
      // Whole blocks of 32 neighbouring columns may collide, so the search goes on in the next block of
      // slots. Behind the last block it goes on at the next slot of the first one.
      slot += slotsABlock;
      if (slot >= slots)
        slot -= slots - 1;
    }
  }
};

/// The places of the columns of a row in rising order, as bits in two levels: a bit for each column, and a
/// bit for each word of columns that has any. It lies in shared memory.
struct ColumnRanks {
  unsigned *top, *words;
  std::uint16_t *topBefore, *before;
  int lowest = 0;

  static __host__ __device__ std::size_t bytes(int words)
  {
    return words * (sizeof(unsigned) + sizeof(std::uint16_t));
  }

  /// Takes bytes(maxWords + maxTopWords) bytes of shared memory.
  __device__ void layOut(unsigned* memory, int maxWords, int maxTopWords)
  {
    top = memory;
    words = top + maxTopWords;
    topBefore = reinterpret_cast<std::uint16_t*>(words + maxWords);
    before = topBefore + maxTopWords;
  }

  __device__ int wordOf(int column) const
  {
    const int word = (column - lowest) / columnsAWord;
    return topBefore[word >> 5] + __popc(top[word >> 5] & bitsBefore(word));
  }
  __device__ int rankOf(int column) const
  {
    const int word = wordOf(column);
    return before[word]
           + __popc(words[word] & bitsBefore(column)); // right because `lowest` is a multiple of 32
  }

  /// Fills both levels and returns the number of columns. forColumns(body) must call body(column) for a part
  /// of the columns in each thread; `low` and `high` are the smallest and the largest of the thread's
  /// columns. The whole group must call it.
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
