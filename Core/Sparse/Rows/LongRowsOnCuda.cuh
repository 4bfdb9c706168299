#pragma once

#include "Core/Sparse/Rows/ColumnTable.cuh"

namespace tessera {

/// The number of threads in kernels for rows whose products do not fit into shared memory.
constexpr int longRowThreads = 512;

/// The shared memory of such a row: sums in slots, either a slot for each column of B (`direct`) or a hash
/// table with slots for the row's entries.
struct LongRoom {
  bool direct; // a slot for each column of B
  int slots, entries, topWords, words;

  /// Products that a thread has in flight; pieces whose products are added together; words of `met`.
  static constexpr int together = 4, piecesAtOnce = 32, metWords = 4096;

  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    const std::size_t table = direct ? 0 : entries * sizeof(V) + slots * sizeof(int);
    return (RowPieces<V>::bytes() + metWords * sizeof(unsigned) + (slots * sizeof(V) + 7) / 8 * 8 + table
            + rowScratch * sizeof(int) + ColumnRanks::bytes(topWords + words) + 15)
           / 16 * 16;
  }
};

/// The arrays of a row in shared memory.
template <class V>
struct LongRow {
  RowPieces<V> pieces;
  // For each slot (modulo metWords) a bit for each of 32 pieces that has a product for it; 0 between uses.
  unsigned* met;
  V *sums, *sorted; // sums of the slots; the row's values in order
  ColumnTable table;
  int* scratch;
  ColumnRanks ranks;

  __device__ LongRow(unsigned char* memory, const LongRoom& room) : pieces(memory)
  {
    met = reinterpret_cast<unsigned*>(memory + RowPieces<V>::bytes());
    sums = reinterpret_cast<V*>(met + LongRoom::metWords);
    sorted =
        reinterpret_cast<V*>(reinterpret_cast<unsigned char*>(sums) + (room.slots * sizeof(V) + 7) / 8 * 8);
    table.column = reinterpret_cast<int*>(sorted + (room.direct ? 0 : room.entries));
    table.slots = room.slots;
    scratch = table.column + (room.direct ? 0 : room.slots);
    ranks.layOut(reinterpret_cast<unsigned*>(scratch + rowScratch), room.words, room.topWords);
  }

  /// Writes columns and values in rising order of the columns, if the slots are those of a table.
  __device__ __forceinline__ void writeTable(const RowGroup& group, std::uint32_t* columns, V* values)
  {
    const auto forSlots = [&](auto&& body) {
      for (int i = group.rank; i < table.slots; i += group.threads)
        if (table.column[i] != ColumnTable::none)
          body(i);
    };
    int low = 0x7fffffff, high = 0;
    forSlots([&](int i) {
      low = min(low, table.column[i]);
      high = max(high, table.column[i]);
    });
    const int entries = ranks.fill(group, low, high, scratch,
                                   [&](auto&& body) { forSlots([&](int i) { body(table.column[i]); }); });
    auto* const sortedColumns = reinterpret_cast<std::uint32_t*>(sorted);
    forSlots([&](int i) {
      const int place = ranks.rankOf(table.column[i]);
      sortedColumns[place] = static_cast<std::uint32_t>(table.column[i]);
      table.column[i] = place; // from here on the slot holds its place in the row
    });
    group.sync();
    for (int i = group.rank; i < entries; i += group.threads)
      columns[i] = sortedColumns[i];
    group.sync();
    forSlots([&](int i) { sorted[table.column[i]] = sums[i]; });
    group.sync();
    for (int i = group.rank; i < entries; i += group.threads)
      values[i] = sorted[i];
  }

  /// Writes columns and values if there is a slot for each column of B. The columns are 32 `words` bits,
  /// which must have been ranked.
  __device__ __forceinline__ void writeSlots(const RowGroup& group, int words, std::uint32_t* columns,
                                             V* values)
  {
    for (int word = group.rank; word < words; word += group.threads) {
      int at = ranks.before[word];
      for (unsigned bits = ranks.words[word]; bits != 0; bits &= bits - 1, ++at) {
        const int column = word * columnsAWord + __ffs(bits) - 1;
        columns[at] = static_cast<std::uint32_t>(column);
        values[at] = sums[column];
      }
    }
  }
};

/// A product that a thread has in flight.
template <class V>
struct SlottedProduct {
  int piece, slot; // piece is -1 if there is no product
  V product;
};

/// Adds products to the sums of their slots in the order of the pieces, 32 pieces at a time. Each piece has
/// at most one product for a slot. So the number of lower bits in the slot's word of `met` is the turn in
/// which a product may be added. Slots that share a word only wait longer than they must. The block must call
/// it after a barrier; it ends with a barrier.
template <class V, class Add>
__device__ __forceinline__ void addInTurns(const LongRow<V>& shared,
                                           const SlottedProduct<V> (&own)[LongRoom::together], int firstPiece,
                                           int lastPiece, Add&& add)
{
  constexpr int together = LongRoom::together;
  for (int first = firstPiece; first <= lastPiece; first += LongRoom::piecesAtOnce) {
    int turn[together];
    const auto forOwn = [&](auto&& body) {
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (own[u].piece >= first && own[u].piece < first + LongRoom::piecesAtOnce)
          body(u, shared.met[own[u].slot % LongRoom::metWords], own[u].piece - first);
    };
#pragma unroll
    for (int u = 0; u < together; ++u)
      turn[u] = -1;
    forOwn([&](int, unsigned& met, int bit) { atomicOr(&met, 1u << bit); });
    __syncthreads();
    forOwn([&](int u, unsigned& met, int bit) { turn[u] = __popc(met & bitsBefore(bit)); });
    __syncthreads();
    forOwn([&](int, unsigned& met, int) { met = 0; });
    int later = 0;
    for (int now = 0; now == 0 || __syncthreads_or(later); ++now) {
      later = 0;
#pragma unroll
      for (int u = 0; u < together; ++u) {
        if (turn[u] == now)
          shared.sums[own[u].slot] = add(shared.sums[own[u].slot], own[u].product);
        later |= turn[u] > now;
      }
    }
  }
}

/// Adds products to the sums of their slots, one piece after the other.
template <class V, class Add>
__device__ __forceinline__ void addByPieces(const LongRow<V>& shared,
                                            const SlottedProduct<V> (&own)[LongRoom::together],
                                            int firstPiece, int lastPiece, Add&& add)
{
  for (int piece = firstPiece; piece <= lastPiece; ++piece) {
#pragma unroll
    for (int u = 0; u < LongRoom::together; ++u)
      if (own[u].piece == piece)
        shared.sums[own[u].slot] = add(shared.sums[own[u].slot], own[u].product);
    __syncthreads();
  }
}

/// Computes rows whose products do not fit into shared memory; a block for each row.
/// for each RowPieces::atOnce entries of A, and each productsAtOnce of their products:
///   load the products (all loads overlap) and find the slots of their columns
///   add them to the sums of the slots, in the order of the entries of A
/// rank the columns and write the row in rising order
/// Memory traffic: reads 12 + sizeof(V) bytes for each entry of A and 4 + sizeof(V) for each product; writes
/// 4 + sizeof(V) for each entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(longRowThreads)
    multiplyLongRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, LongRoom room, RowTarget<V> c)
{
  constexpr int productsAtOnce = LongRoom::together * longRowThreads, shortPiece = 48;
  extern __shared__ __align__(16) unsigned char memory[];
  const RowGroup group(longRowThreads);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  LongRow<V> shared(memory, room);
  for (int i = group.rank; i < LongRoom::metWords; i += group.threads)
    shared.met[i] = 0;
  for (int i = group.rank; i < room.slots; i += group.threads) {
    shared.sums[i] = Ring::zero;
    if (!room.direct)
      shared.table.column[i] = ColumnTable::none;
  }
  if (room.direct)
    for (int i = group.rank; i < room.words; i += group.threads)
      shared.ranks.words[i] = 0;
  Ring ring;
  std::uint64_t all = 0;
  for (std::uint64_t e = first; e < last; e += RowPieces<V>::atOnce) {
    const int total = shared.pieces.bring(group, a, b, e, min(e + RowPieces<V>::atOnce, last)).products;
    all += total;
    for (int start = 0; start < total; start += productsAtOnce) {
      const int end = min(start + productsAtOnce, total);
      typename RowPieces<V>::Entry fetched[LongRoom::together];
      SlottedProduct<V> own[LongRoom::together];
      shared.pieces.fetch(group, b, start, end, fetched);
#pragma unroll
      for (int u = 0; u < LongRoom::together; ++u) {
        own[u].piece = fetched[u].piece;
        if (own[u].piece < 0)
          continue;
        own[u].product = multiplyAdd(ring, fetched[u].ofA, fetched[u].ofB, Ring::zero);
        own[u].slot = fetched[u].column;
        if (room.direct) {
          setBit(shared.ranks.words, fetched[u].column);
        } else {
          bool isNew;
          own[u].slot = shared.table.find(fetched[u].column, isNew);
        }
      }
      const int firstPiece = shared.pieces.pieceOf(start), lastPiece = shared.pieces.pieceOf(end - 1);
      const auto add = [&](V sum, V product) { return ring.add(sum, product); };
      if (end - start < shortPiece * (lastPiece - firstPiece + 1))
        addInTurns(shared, own, firstPiece, lastPiece, add);
      else
        addByPieces(shared, own, firstPiece, lastPiece, add);
    }
  }
  if (room.direct) {
    const int entries = rankBits(group, shared.ranks.words, shared.ranks.before, room.words, shared.scratch);
    bool isMade = true;
    const auto products = static_cast<std::uint32_t>(min(all, std::uint64_t{0xffffffff}));
    const bool isForAnother =
        !c.rowStart && isForWarp(products, entries); // then only the size is recorded here
    const std::uint64_t to = placeOfRow(group, c, row, entries, shared.scratch, isMade, isForAnother);
    if (!isMade)
      return;
    shared.writeSlots(group, room.words, c.column + to, c.value + to);
  } else {
    const std::uint64_t to = c.rowStart[row];
    shared.writeTable(group, c.column + to, c.value + to);
  }
  c.report(ring);
}

}
