#pragma once

#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

#include <cstdint>

namespace tessera {

/// The threads that compute a row of C: a warp (of which a block may have several) or a whole block.
struct RowGroup {
  int threads, rank; // number of threads, a power of two from 32 on; this thread's number

  explicit __device__ RowGroup(int count) : threads(count), rank(static_cast<int>(threadIdx.x) & (count - 1))
  {
  }

  __device__ void sync() const
  {
    if (threads == 32)
      __syncwarp();
    else
      __syncthreads();
  }
};

/// The largest number of ints in shared memory that functions on groups use.
constexpr int rowScratch = 32;

/// Sets before[i] to the number of bits that are set in the words before word i of `count` words in shared
/// memory, and returns the number of all set bits. The whole group must call it after a barrier; it ends with
/// a barrier. `ofWarps` is shared memory for a number of each warp.
inline __device__ int rankBits(const RowGroup& group, const unsigned* words, std::uint16_t* before, int count,
                               int* ofWarps)
{
  const int each =
      ceilDiv(count, group.threads) | 1; // odd, so that the threads' parts begin in different banks
  const int first = min(count, group.rank * each), last = min(count, first + each);
  int sum = 0;
  for (int w = first; w < last; ++w)
    sum += __popc(words[w]);
  int total = 0, sumBefore = warpExclusive(sum, total);
  if (group.threads > 32) {
    const int warp = group.rank / 32;
    if (group.rank % 32 == 0)
      ofWarps[warp] = total;
    __syncthreads();
    total = 0;
    for (int w = 0; w < group.threads / 32; ++w) {
      if (w < warp)
        sumBefore += ofWarps[w];
      total += ofWarps[w];
    }
  }
  for (int w = first; w < last; ++w) {
    before[w] = static_cast<std::uint16_t>(sumBefore);
    sumBefore += __popc(words[w]);
  }
  group.sync();
  return total;
}

/// The number of pieces that are in shared memory, and of products in them.
struct BroughtPieces {
  int pieces, products;
};

/// The pieces of some entries of A in shared memory of a group: the rows of B, not empty, that these entries
/// are multiplied with. Their products are numbered from 0, piece after piece.
template <class V>
struct RowPieces {
  static constexpr int atOnce = 128;

  std::uint64_t* from; // place in B of each piece's product 0, had it one
  V* factor;           // value of the entry of A
  int* end;            // number of the product behind the last one of each piece
  BroughtPieces* brought;

  static __host__ __device__ constexpr std::size_t bytes()
  {
    return atOnce * (sizeof(std::uint64_t) + sizeof(V) + sizeof(int)) + sizeof(BroughtPieces);
  }

  explicit __device__ RowPieces(unsigned char* memory)
      : from(reinterpret_cast<std::uint64_t*>(memory)), factor(reinterpret_cast<V*>(from + atOnce)),
        end(reinterpret_cast<int*>(factor + atOnce)), brought(reinterpret_cast<BroughtPieces*>(end + atOnce))
  {
  }

  /// Brings the pieces of entries [first, last) of A, at most `atOnce`. The whole group must call it.
  __device__ BroughtPieces bring(const RowGroup& group, const CsrView<V>& a, const PatternView& b,
                                 std::uint64_t first, std::uint64_t last) const
  {
    group.sync();
    if (group.rank < 32) {
      BroughtPieces all{0, 0};
      for (std::uint64_t e = first + group.rank; e - group.rank < last; e += 32) {
        const RowPiece row = e < last ? rowOfB(a, b, e) : RowPiece();
        const unsigned some = __ballot_sync(~0u, row.length > 0);
        int products = 0;
        const int start = all.products + warpExclusive(row.length, products),
                  piece = all.pieces + __popc(some & bitsBefore(group.rank));
        if (row.length > 0) {
          from[piece] = row.from - start;
          if (a.value)
            factor[piece] = a.value[e];
          end[piece] = start + row.length;
        }
        all.pieces += __popc(some);
        all.products += products;
      }
      for (int i = all.pieces + group.rank; i < atOnce; i += 32)
        end[i] = 0x7fffffff;
      if (group.rank == 0)
        *brought = all;
    }
    group.sync();
    return *brought;
  }
  /// Brings the pieces of all entries [first, last) of A, up to `atOnce` entries at a time. Calls body(pieces
  /// and products before, pieces and products now) each time.
  template <class Body>
  __device__ __forceinline__ BroughtPieces bringAll(const RowGroup& group, const CsrView<V>& a,
                                                    const PatternView& b, std::uint64_t first,
                                                    std::uint64_t last, Body&& body) const
  {
    BroughtPieces all{0, 0};
    for (std::uint64_t e = first; e < last; e += atOnce) {
      const BroughtPieces now = bring(group, a, b, e, min(e + atOnce, last));
      body(all, now);
      all.pieces += now.pieces;
      all.products += now.products;
    }
    group.sync();
    return all;
  }
  /// The piece that a product belongs to.
  __device__ int pieceOf(int position) const
  {
    int piece = 0;
#pragma unroll
    for (int half = atOnce / 2; half > 0; half /= 2)
      if (end[piece + half - 1] <= position)
        piece += half;
    return piece;
  }
  /// Calls body(number - first, column, product) for the products numbered [first, last). A thread loads four
  /// before it uses the first, so that the loads overlap.
  template <class Ring, class Finder, class Body>
  __device__ __forceinline__ void forProducts(Ring& ring, const RowGroup& group, const CsrView<V>& b,
                                              int first, int last, const Finder& finder, Body&& body) const
  {
    forEntries<Entry>(
        group, first, last, finder,
        [&](int piece, std::uint64_t at) {
          return Entry{piece, static_cast<int>(b.column[at]), factor[piece], b.value[at]};
        },
        [&](int i, const Entry& entry) {
          body(i, entry.column, multiplyAdd(ring, entry.ofA, entry.ofB, Ring::zero));
        });
  }
  /// Calls body(number - first, column) for the products numbered [first, last).
  template <class Finder, class Body>
  __device__ __forceinline__ void forColumns(const RowGroup& group, const PatternView& b, int first, int last,
                                             const Finder& finder, Body&& body) const
  {
    forEntries<int>(
        group, first, last, finder, [&](int, std::uint64_t at) { return static_cast<int>(b.column[at]); },
        body);
  }

  /// The operands of a product; piece is -1 if there is none.
  struct Entry {
    int piece, column;
    V ofA, ofB;
  };
  /// Loads the operands of products first + rank, first + rank + threads and so on. All loads overlap.
  template <int Together>
  __device__ __forceinline__ void fetch(const RowGroup& group, const CsrView<V>& b, int first, int last,
                                        Entry (&entries)[Together]) const
  {
#pragma unroll
    for (int u = 0; u < Together; ++u) {
      const int position = first + group.rank + u * group.threads;
      entries[u].piece = -1;
      if (position < last) {
        const int piece = pieceOf(position);
        const std::uint64_t at = from[piece] + position;
        entries[u] = {piece, static_cast<int>(b.column[at]), factor[piece], b.value[at]};
      }
    }
  }

private:
  template <class Fetched, class Finder, class Fetch, class Body>
  __device__ __forceinline__ void forEntries(const RowGroup& group, int first, int last, const Finder& finder,
                                             Fetch&& fetch, Body&& body) const
  {
    constexpr int together = 4;
    for (int position = first + group.rank; position < last; position += together * group.threads) {
      Fetched fetched[together];
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const int at = position + u * group.threads;
        if (at < last) {
          const int piece = finder.pieceOf(at);
          fetched[u] = fetch(piece, from[piece] + at);
        }
      }
#pragma unroll
      for (int u = 0; u < together; ++u) {
        const int at = position + u * group.threads;
        if (at < last)
          body(at - first, fetched[u]);
      }
    }
  }
};

/// Finds the piece that a product belongs to from two numbers, without a search: a bit for each product tells
/// whether a piece begins there, and `before` counts the pieces that begin before each word of bits. It lies
/// in shared memory of a group.
struct PieceMarks {
  unsigned* starts;
  std::uint16_t* before;

  static __host__ __device__ constexpr int words(int products) { return products / 32 + 1; }
  /// The result is a multiple of 4.
  static __host__ __device__ constexpr std::size_t bytes(int products)
  {
    return (words(products) * std::size_t{6} + 3) / 4 * 4;
  }

  __device__ PieceMarks(unsigned char* memory, int products)
      : starts(reinterpret_cast<unsigned*>(memory)),
        before(reinterpret_cast<std::uint16_t*>(starts + words(products)))
  {
  }

  /// The whole group must call it after a barrier; it ends with a barrier.
  __device__ void fill(const RowGroup& group, const BroughtPieces& brought, const int* end) const
  {
    for (int word = group.rank; word < words(brought.products); word += group.threads)
      starts[word] = 0;
    group.sync();
    for (int piece = group.rank; piece < brought.pieces; piece += group.threads) {
      const int start = piece > 0 ? end[piece - 1] : 0;
      atomicOr(starts + start / 32, 1u << (start % 32));
      if (piece == 0)
        before[0] = 0;
      for (int word = start / 32 + 1; word <= end[piece] / 32;
           ++word) // words in which the piece began earlier
        before[word] = static_cast<std::uint16_t>(piece + 1);
    }
    group.sync();
  }
  __device__ int pieceOf(int position) const
  {
    return before[position / 32] + __popc(starts[position / 32] & ((2u << (position % 32)) - 1)) - 1;
  }
};

/// A product and its place in the row.
template <class V>
struct PlacedProduct {
  int place;
  V product;
};

/// Calls add(fetch(i)) for i from 0 to `count` by a warp, 32 at a time. Items of the same place are added one
/// after the other, in the order of i.
template <class Fetch, class Add>
__device__ __forceinline__ void addInOrder(int count, Fetch&& fetch, Add&& add)
{
  const int lane = static_cast<int>(threadIdx.x % 32);
  auto item = fetch(min(lane, count - 1));
  for (int first = 0; first < count; first += 32) { // the next items are loaded ahead
    const auto next = fetch(min(first + 32 + lane, count - 1));
    const bool has = first + lane < count;
    const unsigned samePlace = __match_any_sync(~0u, has ? item.place : -1 - lane);
    const int turn = has ? __popc(samePlace & bitsBefore(lane)) : -1;
    for (int now = 0; __any_sync(~0u, turn >= now); ++now) {
      if (turn == now)
        add(item);
      __syncwarp();
    }
    item = next;
  }
}

/// Calls add(fetch(i)) for products [0, count), piece after piece: no product is added before all products of
/// the piece before. endOf(piece) is the number behind its last product. If pieces are short on average, a
/// single warp does it, since its barriers take less time; if they are very short, addInOrder does. The whole
/// group must call it after a barrier; it ends with a barrier.
template <class EndOf, class Fetch, class Add>
__device__ __forceinline__ void addPiecesInOrder(const RowGroup& group, int pieces, int count, EndOf&& endOf,
                                                 Fetch&& fetch, Add&& add)
{
  constexpr int shortPiece = 48, veryShortPiece = 24;
  const bool byWarp = count < shortPiece * pieces;
  const int step = byWarp ? 32 : group.threads;
  if (count < veryShortPiece * pieces) {
    if (group.rank < 32)
      addInOrder(count, fetch, add);
  } else if (group.rank < step && pieces > 0) {
    int start = 0, end = endOf(0);
    auto item = fetch(min(group.rank, count - 1));
    for (int piece = 0; piece < pieces; ++piece) { // the next piece's products are loaded ahead
      const int nextStart = end, nextEnd = piece + 1 < pieces ? endOf(piece + 1) : end;
      const auto next = fetch(min(nextStart + group.rank, count - 1));
      if (start + group.rank < end)
        add(item);
      for (int i = start + group.rank + step; i < end; i += step)
        add(fetch(i));
      if (byWarp)
        __syncwarp();
      else
        group.sync();
      item = next;
      start = nextStart;
      end = nextEnd;
    }
  }
  group.sync();
}

/// The place where a row of so many entries begins. `isMade` becomes false if the row must not be written: it
/// found no room, or `onlyRecordSize` asks to record its size only. The whole group must call it; `scratch`
/// is shared memory.
template <class V>
__device__ __forceinline__ std::uint64_t placeOfRow(const RowGroup& group, const RowTarget<V>& c,
                                                    std::uint32_t row, int entries, int* scratch,
                                                    bool& isMade, bool onlyRecordSize = false)
{
  if (c.rowStart)
    return c.rowStart[row];
  if (group.rank == 0) {
    const auto count = static_cast<std::uint32_t>(entries);
    const std::uint32_t start = onlyRecordSize ? c.scratch.left() : c.scratch.take(count);
    c.scratch.start[row] = start;
    c.scratch.count[row] = count;
    *scratch = static_cast<int>(start);
  }
  group.sync();
  const auto start = static_cast<std::uint32_t>(*scratch);
  isMade = start != notMade;
  return start;
}

}
