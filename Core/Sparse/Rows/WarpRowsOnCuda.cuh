#pragma once

#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

namespace tessera {

/// The rows of a block in kernels with a warp for each row, and the threads of such a block.
constexpr int warpsABlock = 4, warpRowThreads = 32 * warpsABlock;

/// The shared memory of such a row: a bit for each word of 32 columns over the whole width of B, as many
/// words as the row may touch, and its sums.
struct WarpRowRoom {
  int topWords, words, sums;

  __host__ __device__ std::size_t topBytes() const { return (topWords * std::size_t{6} + 7) / 8 * 8; }
  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    return topBytes() + (words * std::size_t{6} + 7) / 8 * 8 + (sums * sizeof(V) + 7) / 8 * 8;
  }
};

/// The columns of a row as bits in two levels with the number of set bits before each word, which give each
/// column its place in the row, and the sums at these places. It lies in shared memory of a warp.
template <class V>
struct WarpRow {
  unsigned* top;
  unsigned* words;
  V* sums;
  std::uint16_t *topBefore, *before;
  int topWords, lowest = 0;

  __device__ WarpRow(unsigned char* memory, const WarpRowRoom& room)
  {
    top = reinterpret_cast<unsigned*>(memory);
    topBefore = reinterpret_cast<std::uint16_t*>(top + room.topWords);
    unsigned char* const second = memory + room.topBytes();
    words = reinterpret_cast<unsigned*>(second);
    before = reinterpret_cast<std::uint16_t*>(words + room.words);
    sums = reinterpret_cast<V*>(second + (room.words * std::size_t{6} + 7) / 8 * 8);
    topWords = 0;
  }

  __device__ int wordOf(int column) const
  {
    const int word = column / columnsAWord;
    return topBefore[word >> 5] + __popc(top[word >> 5] & bitsBefore(word));
  }
  /// The place of a column, which is counted from `lowest`.
  __device__ int placeOf(int column) const
  {
    const int word = wordOf(column);
    return before[word] + __popc(words[word] & bitsBefore(column));
  }

  /// Sets bitsBeforeWord[i] to the number of bits that are set in the words before word i of `count` words.
  /// Returns the number of all set bits.
  static __device__ int rankBits(const unsigned* bits, std::uint16_t* bitsBeforeWord, int count)
  {
    const int lane = threadIdx.x % 32;
    int all = 0;
    for (int first = 0; first < count; first += 32) {
      const int i = first + lane;
      int total = 0;
      const int own = warpExclusive(i < count ? __popc(bits[i]) : 0, total);
      if (i < count)
        bitsBeforeWord[i] = static_cast<std::uint16_t>(all + own);
      all += total;
    }
    __syncwarp();
    return all;
  }

  static __device__ void clear(unsigned* bits, int count)
  {
    for (int i = threadIdx.x % 32; i < count; i += 32)
      bits[i] = 0;
    __syncwarp();
  }

  /// Finds the columns of the row of C that entries [first, last) of A make, and returns their number.
  __device__ int findColumns(const PatternView& a, const PatternView& b, std::uint64_t first,
                             std::uint64_t last)
  {
    const int lane = threadIdx.x % 32;
    int low = 0x7fffffff, high = 0;
    for (std::uint64_t e = first + lane; e < last; e += 32) {
      const RowPiece row = rowOfB(a, b, e);
      if (row.length > 0) {
        low = min(low, static_cast<int>(b.column[row.from]));
        high = max(high, static_cast<int>(b.column[row.from + row.length - 1]));
      }
    }
    lowest = warpMinimum(low) / columnsATopWord * columnsATopWord;
    topWords = (warpMaximum(high) - lowest) / columnsATopWord + 1;
    const auto forColumns = [&](auto&& body) {
      for (std::uint64_t e = first; e < last; e += 32)
        forPiecesInAnyOrder(e + lane < last ? rowOfB(a, b, e + lane) : RowPiece(), b,
                            [&](int column) { body(column - lowest); });
      __syncwarp();
    };
    clear(top, topWords);
    forColumns([&](int column) { setBit(top, column / columnsAWord); });
    const int wordCount = rankBits(top, topBefore, topWords);
    clear(words, wordCount);
    forColumns([&](int column) { setBit(words + wordOf(column), column % columnsAWord); });
    return rankBits(words, before, wordCount);
  }

  /// Writes all columns in rising order.
  __device__ void writeColumns(std::uint32_t* to) const
  {
    for (int i = threadIdx.x % 32; i < topWords; i += 32) {
      int word = topBefore[i];
      for (unsigned of = top[i]; of != 0; of &= of - 1, ++word) {
        const int column = lowest + (i * 32 + __ffs(of) - 1) * columnsAWord;
        int place = before[word];
        for (unsigned bits = words[word]; bits != 0; bits &= bits - 1)
          to[place++] = static_cast<std::uint32_t>(column + __ffs(bits) - 1);
      }
    }
  }
};

/// Computes rows with many products and few entries; a warp for each row.
/// find the row's columns as bits; the rank of a column is its place in the row
/// for each entry of A, in order: add its products to the sums at their places in shared memory
/// write columns and sums
/// Memory traffic: reads 8 + sizeof(V) bytes for each entry of A and 12 + sizeof(V) for each product; writes
/// 4 + sizeof(V) for each entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(warpRowThreads)
    multiplyWarpRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, std::uint32_t count,
                     WarpRowRoom room, RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::uint32_t task = blockIdx.x * warpsABlock + warp;
  if (task >= count)
    return;
  const std::uint32_t row = list[task];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1], to = c.rowStart[row];
  WarpRow<V> shared(memory + warp * room.bytes<V>(), room);
  const int entries = shared.findColumns(a, b, first, last);
  for (int i = lane; i < entries; i += 32)
    shared.sums[i] = Ring::zero;
  __syncwarp();
  Ring ring;
  for (std::uint64_t e = first; e < last; e += 32) {
    const bool has = e + lane < last;
    forPiecesInOrder(has ? rowOfB(a, b, e + lane) : RowPiece(), has ? a.value[e + lane] : V(0), b,
                     [&](int column, V ofA, V ofB) {
                       V& sum = shared.sums[shared.placeOf(column - shared.lowest)];
                       sum = multiplyAdd(ring, ofA, ofB, sum);
                     });
  }
  shared.writeColumns(c.column + to);
  for (int i = lane; i < entries; i += 32)
    c.value[to + i] = shared.sums[i];
  c.report(ring);
}

}
