#pragma once

#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

namespace tessera {

/// The number of threads in kernels with a block for each row.
constexpr int blockRowThreads = 512, blockRowWarps = blockRowThreads / 32, blockRowsAMultiprocessor = 3;

/// The shared memory of such a block: one bit for each word of 32 columns of the window, words of 32 columns,
/// and sums.
struct BlockRowRoom {
  int topWords, words, sums;

  template <class V>
  __host__ __device__ std::size_t sumBytes() const
  {
    return (sums * sizeof(V) + 7) / 8 * 8;
  }
  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    return sumBytes<V>() + (topWords + words) * std::size_t{8};
  }
};

/// The columns that a row of C has inside a window, as words of 32 bits, and the number of columns before
/// each word; in shared memory of a block. A narrow window stores all its words. A wide window stores only
/// words that have columns, and a first level of bits tells which these are.
struct BlockRow {
  unsigned *top, *mask;    // first level: bits of words that have columns; second level: bits of columns
  int *topBefore, *before; // set bits before each word of the first and of the second level
  int lowest = 0, end = 0; // first column of the window, a multiple of 32, and the one behind the last
  int topWords = 0, words = 0;
  bool isWide = false;

  __device__ BlockRow(unsigned char* memory, const BlockRowRoom& room)
      : top(reinterpret_cast<unsigned*>(memory)), mask(top + room.topWords),
        topBefore(reinterpret_cast<int*>(mask + room.words)), before(topBefore + room.topWords)
  {
  }

  __device__ int wordOf(int column) const
  {
    const int word = (column - lowest) >> 5;
    if (!isWide)
      return word;
    return topBefore[word >> 5] + __popc(top[word >> 5] & bitsBefore(word));
  }
  __device__ int placeOf(int column) const
  {
    const int word = wordOf(column);
    return before[word] + __popc(mask[word] & bitsBefore(column));
  }
  /// The first column of a word, or the end of the window if it has fewer words.
  __device__ int columnOfWord(int word) const
  {
    if (!isWide)
      return min(end, lowest + word * columnsAWord);
    if (word >= words)
      return end;
    const int at = lastNotAbove(topBefore, topWords, word);
    return lowest + (at * 32 + bitOf(top[at], word - topBefore[at])) * 32;
  }
  /// The column at a place in the row, or the end of the window if it has fewer columns.
  __device__ int columnAt(int place, int total) const
  {
    if (place >= total)
      return end;
    const int word = lastNotAbove(before, words, place);
    return columnOfWord(word) + bitOf(mask[word], place - before[word]);
  }

private:
  /// The position of the last of `count` rising numbers that is at most `value`. The first number must be at
  /// most `value`.
  static __device__ int lastNotAbove(const int* numbers, int count, int value)
  {
    int low = 0, high = count;
    while (low < high) {
      const int middle = (low + high) >> 1;
      if (numbers[middle] <= value)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1;
  }
  /// The position of the set bit that has `skip` set bits before it.
  static __device__ int bitOf(unsigned bits, int skip)
  {
    for (; skip > 0; --skip)
      bits &= bits - 1;
    return __ffs(bits) - 1;
  }
};

/// Calls f(column - lowest) for all products whose column lies in the window. A warp takes an entry of A.
template <class F>
__device__ void forColumns(const BlockRow& shared, const PatternView& a, const PatternView& b,
                           std::uint64_t first, std::uint64_t last, F&& f)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto end = static_cast<std::uint32_t>(shared.end);
  for (std::uint64_t e = first + warp; e < last; e += blockRowWarps) {
    const RowPiece row = rowOfB(a, b, e);
    const std::uint64_t endOfRow = row.from + row.length;
    const bool startsBefore =
        row.length > 0 && b.column[row.from] < static_cast<std::uint32_t>(shared.lowest);
    const std::uint64_t from = startsBefore ? lowerBound(b, row.from, endOfRow, shared.lowest) : row.from;
    for (std::uint64_t j = from + lane; j < endOfRow && b.column[j] < end; j += 32)
      f(static_cast<int>(b.column[j]) - shared.lowest);
  }
}

/// Moves the window to the first column of the row that is not below `from`; returns false if there is none.
/// Sets `isWhole` to whether the window has all columns from there on; a wide window may be limited by its
/// first level of bits. All threads of the block must call it.
inline __device__ bool moveWindow(BlockRow& shared, const PatternView& a, const PatternView& b,
                                  std::uint64_t first, std::uint64_t last, int from, const BlockRowRoom& room,
                                  bool& isWhole)
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
  shared.lowest = lowest / columnsAWord * columnsAWord;
  const int wantedWords = (highest - shared.lowest) / columnsAWord + 1, wantedTop = ceilDiv(wantedWords, 32);
  shared.isWide = wantedWords > room.words;
  shared.topWords = min(wantedTop, room.topWords);
  shared.words = wantedWords;
  isWhole = !shared.isWide || wantedTop <= room.topWords;
  const int columns = shared.isWide ? columnsATopWord * shared.topWords : columnsAWord * wantedWords;
  shared.end = shared.lowest + min(columns, 0x7fffffff - shared.lowest);
  return true;
}

/// Finds the words of a wide window that have columns. If there are more than `roomForWords`, the window ends
/// earlier and is not whole.
inline __device__ void findWords(BlockRow& shared, const PatternView& a, const PatternView& b,
                                 std::uint64_t first, std::uint64_t last, int roomForWords, bool& isWhole)
{
  for (int w = threadIdx.x; w < shared.topWords; w += blockRowThreads)
    shared.top[w] = 0;
  __syncthreads();
  forColumns(shared, a, b, first, last, [&](int column) { setBit(shared.top, column / columnsAWord); });
  __syncthreads();
  shared.words = rankBitsInBlock<blockRowThreads>(shared.top, shared.topBefore, shared.topWords);
  if (shared.words > roomForWords) {
    shared.end = shared.columnOfWord(roomForWords);
    shared.words = roomForWords;
    isWhole = false;
  }
}

/// Finds the columns in the window and returns their number. All threads of the block must call it.
inline __device__ int findColumns(BlockRow& shared, const PatternView& a, const PatternView& b,
                                  std::uint64_t first, std::uint64_t last, int roomForWords, bool& isWhole)
{
  if (shared.isWide)
    findWords(shared, a, b, first, last, roomForWords, isWhole);
  for (int w = threadIdx.x; w < shared.words; w += blockRowThreads)
    shared.mask[w] = 0;
  __syncthreads();
  forColumns(shared, a, b, first, last, [&](int column) {
    setBit(shared.mask, shared.wordOf(shared.lowest + column) * columnsAWord + column % columnsAWord);
  });
  __syncthreads();
  return rankBitsInBlock<blockRowThreads>(shared.mask, shared.before, shared.words);
}

/// Computes the sums at places [firstPlace, firstPlace + count) of the window, which has `total` columns. The
/// warps share the work in two ways: they divide the places into `parts`, and the entries of A among as many
/// copies of the sums as there is room for. The copies are added in a fixed order.
template <class V, class Ring>
__device__ void sumPlaces(Ring& ring, const BlockRow& shared, V* sums, int roomForSums, const CsrView<V>& a,
                          const CsrView<V>& b, std::uint64_t first, std::uint64_t last, int firstPlace,
                          int count, int total, bool isWhole, V* to)
{
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int copies = 1 << (31 - __clz(min(blockRowWarps, roomForSums / count))),
            parts = blockRowWarps / copies;
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

/// Writes the columns of the window in rising order.
inline __device__ void writeColumns(const BlockRow& shared, std::uint32_t* to)
{
  const auto write = [&](int word, int firstColumn) {
    std::uint32_t* at = to + shared.before[word];
    for (unsigned bits = shared.mask[word]; bits != 0; bits &= bits - 1)
      *at++ = static_cast<std::uint32_t>(firstColumn + __ffs(bits) - 1);
  };
  if (!shared.isWide) {
    for (int word = threadIdx.x; word < shared.words; word += blockRowThreads)
      write(word, shared.lowest + word * columnsAWord);
    return;
  }
  for (int t = threadIdx.x; t < shared.topWords; t += blockRowThreads) {
    int word = shared.topBefore[t];
    for (unsigned bits = shared.top[t]; bits != 0 && word < shared.words; bits &= bits - 1, ++word)
      write(word, shared.lowest + (t * 32 + __ffs(bits) - 1) * columnsAWord);
  }
}

/// Computes the longest rows of C; a block for each row.
/// for each window of the columns, from the lowest column on:
///   find the row's columns in the window as bits; a column's rank is its place in the row
///   for each room.sums places: add up the products at these places in shared memory and write the sums
///   write the columns
/// Memory traffic: reads 8 + sizeof(V) bytes for each product and writes 4 + sizeof(V) for each entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(blockRowThreads, blockRowsAMultiprocessor)
    multiplyBlockRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, BlockRowRoom room,
                      RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  V* const sums = reinterpret_cast<V*>(memory);
  BlockRow shared(memory + room.sumBytes<V>(), room);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  std::uint64_t to = c.rowStart[row];
  Ring ring;
  bool isWhole = false;
  for (int from = 0; !isWhole && moveWindow(shared, a, b, first, last, from, room, isWhole);
       from = shared.end) {
    const int total = findColumns(shared, a, b, first, last, room.words, isWhole);
    const bool isAll = isWhole && from == 0;
    for (int place = 0; place < total; place += room.sums)
      sumPlaces(ring, shared, sums, room.sums, a, b, first, last, place, min(room.sums, total - place), total,
                isAll, c.value + to + place);
    writeColumns(shared, c.column + to);
    to += total;
  }
  c.report(ring);
}

}
