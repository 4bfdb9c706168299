#pragma once

#include "Core/Sparse/RowPiecesOnCuda.cuh"
#include "Core/Sparse/RowRingOnCuda.cuh"

namespace tessera {

/// Threads of kernels with a block a row.
constexpr int blockRowThreads = 512, blockRowWarps = blockRowThreads / 32, blockRowsAMultiprocessor = 3;

/// How much shared memory they take: a window of columns, 32 a word, and sums.
struct BlockRowRoom {
  int words, sums;

  template <class V>
  __host__ __device__ std::size_t sumBytes() const
  {
    return (sums * sizeof(V) + 7) / 8 * 8;
  }
  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    return sumBytes<V>() + words * std::size_t{8};
  }
};

/// The columns of a row of C that lie in a window, as bits, with the number of those before each word; in shared memory of a block.
struct BlockRow {
  unsigned* mask;
  int* before;
  int lowest = 0, words = 0; // first column of the window, words in it

  __device__ BlockRow(unsigned char* memory, const BlockRowRoom& room)
      : mask(reinterpret_cast<unsigned*>(memory)), before(reinterpret_cast<int*>(mask + room.words))
  {
  }

  __device__ int end() const { return lowest + min(32 * words, 0x7fffffff - lowest); }
  __device__ int placeOf(int column) const
  {
    return before[(column - lowest) >> 5] + __popc(mask[(column - lowest) >> 5] & bitsBefore(column - lowest));
  }
  /// The column at a place; the end of the window if there are not so many.
  __device__ int columnAt(int place, int total) const
  {
    if (place >= total)
      return end();
    int low = 0, high = words; // the last word with so many or fewer before it
    while (low < high) {
      const int middle = (low + high) >> 1;
      if (before[middle] <= place)
        low = middle + 1;
      else
        high = middle;
    }
    unsigned bits = mask[low - 1];
    for (int skip = place - before[low - 1]; skip > 0; --skip)
      bits &= bits - 1;
    return lowest + (low - 1) * 32 + __ffs(bits) - 1;
  }
};

/// Moves the window to the first column of the row from `from` on; false if there is none. Then `isWhole` says whether the window
/// has all columns from there. Every thread of the block calls it.
inline __device__ bool moveWindow(BlockRow& shared, const PatternView& a, const PatternView& b, std::uint64_t first,
                                  std::uint64_t last, int from, int roomForWords, bool& isWhole)
{
  __shared__ int lowest, highest;
  __syncthreads();
  if (threadIdx.x == 0) {
    lowest = 0x7fffffff;
    highest = -1;
  }
  __syncthreads();
  for (std::uint64_t e = first + threadIdx.x; e < last; e += blockRowThreads) {
    const RowPiece row = rowOfB(a, b, e);
    const std::uint64_t end = row.from + row.length;
    const std::uint64_t at = from > 0 ? lowerBound(b, row.from, end, from) : row.from;
    if (at < end) {
      atomicMin(&lowest, static_cast<int>(b.column[at]));
      atomicMax(&highest, static_cast<int>(b.column[end - 1]));
    }
  }
  __syncthreads();
  if (highest < 0)
    return false;
  shared.lowest = lowest / 32 * 32;
  const int wanted = (highest - shared.lowest) / 32 + 1;
  shared.words = min(wanted, roomForWords);
  isWhole = wanted <= roomForWords;
  return true;
}

/// Finds the columns in the window; returns how many. Every thread of the block calls it.
inline __device__ int findColumns(const BlockRow& shared, const PatternView& a, const PatternView& b, std::uint64_t first,
                                  std::uint64_t last)
{
  __shared__ int ofWarps[blockRowWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int w = threadIdx.x; w < shared.words; w += blockRowThreads)
    shared.mask[w] = 0;
  __syncthreads();
  const std::uint32_t end = shared.end();
  for (std::uint64_t e = first + warp; e < last; e += blockRowWarps) {
    const RowPiece row = rowOfB(a, b, e);
    const std::uint64_t endOfRow = row.from + row.length;
    const bool startsBefore = row.length > 0 && b.column[row.from] < static_cast<std::uint32_t>(shared.lowest);
    const std::uint64_t from = startsBefore ? lowerBound(b, row.from, endOfRow, shared.lowest) : row.from;
    for (std::uint64_t j = from + lane; j < endOfRow && b.column[j] < end; j += 32)
      setBit(shared.mask, static_cast<int>(b.column[j]) - shared.lowest);
  }
  __syncthreads();
  const int each = ceilDiv(shared.words, blockRowThreads), firstWord = min(shared.words, static_cast<int>(threadIdx.x) * each);
  const int lastWord = min(shared.words, firstWord + each);
  int sum = 0;
  for (int w = firstWord; w < lastWord; ++w)
    sum += __popc(shared.mask[w]);
  int ofWarp = 0, sumBefore = warpExclusive(sum, ofWarp), total = 0;
  if (lane == 0)
    ofWarps[warp] = ofWarp;
  __syncthreads();
  for (int w = 0; w < blockRowWarps; ++w) {
    if (w < warp)
      sumBefore += ofWarps[w];
    total += ofWarps[w];
  }
  for (int w = firstWord; w < lastWord; ++w) {
    shared.before[w] = sumBefore;
    sumBefore += __popc(shared.mask[w]);
  }
  __syncthreads();
  return total;
}

/// Sums at places [firstPlace, firstPlace + count) of the window, `total` of which it has. The block's warps share them out twice:
/// `parts` divide the places, and as many copies of the sums as there is room for the entries of A; copies are added in their
/// order.
template <class V, class Ring>
__device__ void sumPlaces(Ring& ring, const BlockRow& shared, V* sums, int roomForSums, const CsrView<V>& a, const CsrView<V>& b,
                          std::uint64_t first, std::uint64_t last, int firstPlace, int count, int total, bool isWhole, V* to)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int copies = 1 << (31 - __clz(min(blockRowWarps, roomForSums / count))), parts = blockRowWarps / copies;
  const int part = warp % parts, copy = warp / parts;
  for (int i = threadIdx.x; i < copies * count; i += blockRowThreads)
    sums[i] = Ring::zero;
  const auto firstOfPart = [&](int p) {
    return shared.columnAt(firstPlace + static_cast<int>(static_cast<long long>(count) * p / parts), total);
  };
  const bool everything = isWhole && parts == 1 && count == total;
  const int low = everything ? 0 : firstOfPart(part), high = everything ? 0 : firstOfPart(part + 1);
  V* const own = sums + copy * count;
  __syncthreads();
  const std::uint64_t entriesOfA = last - first;
  const int atOnce = static_cast<int>(min(ceilDiv<std::uint64_t>(entriesOfA, copies), std::uint64_t{32}));
  for (std::uint64_t e = first + copy * atOnce; e < last; e += copies * atOnce) {
    RowPiece piece;
    V ofA = 0;
    if (lane < atOnce && e + lane < last) {
      piece = rowOfB(a, b, e + lane);
      ofA = a.value[e + lane];
      if (!everything) {
        const std::uint64_t end = piece.from + piece.length;
        piece.from = lowerBound(b, piece.from, end, low);
        piece.length = static_cast<int>(lowerBound(b, piece.from, end, high) - piece.from);
      }
    }
    forPiecesInOrder(piece, ofA, b, [&](int column, V factor, V ofB) {
      V& sum = own[shared.placeOf(column) - firstPlace];
      sum = multiplyAdd(ring, factor, ofB, sum);
    });
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockRowThreads) {
    V sum = sums[i];
    for (int c = 1; c < copies; ++c)
      sum = ring.add(sum, sums[c * count + i]);
    to[i] = sum;
  }
  __syncthreads();
}

/// A block a row, in windows of columns. Reads 8 + sizeof(V) bytes a product, writes 4 + sizeof(V) an entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(blockRowThreads, blockRowsAMultiprocessor)
    multiplyBlockRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, BlockRowRoom room, RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  V* const sums = reinterpret_cast<V*>(memory);
  BlockRow shared(memory + room.sumBytes<V>(), room);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  std::uint64_t to = c.rowStart[row];
  Ring ring;
  bool isWhole = false;
  for (int from = 0; !isWhole && moveWindow(shared, a, b, first, last, from, room.words, isWhole); from = shared.end()) {
    const int total = findColumns(shared, a, b, first, last);
    const bool isAll = isWhole && from == 0;
    for (int place = 0; place < total; place += room.sums)
      sumPlaces(ring, shared, sums, room.sums, a, b, first, last, place, min(room.sums, total - place), total, isAll,
                c.value + to + place);
    for (int w = threadIdx.x; w < shared.words; w += blockRowThreads) {
      std::uint64_t at = to + shared.before[w];
      for (unsigned bits = shared.mask[w]; bits != 0; bits &= bits - 1)
        c.column[at++] = static_cast<std::uint32_t>(shared.lowest + w * 32 + __ffs(bits) - 1);
    }
    to += total;
  }
  c.report(ring);
}

}
