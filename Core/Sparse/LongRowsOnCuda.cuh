#pragma once

#include "Core/Sparse/ColumnTable.cuh"

namespace tessera {

/// Threads of kernels for rows of more products than shared memory has room for.
constexpr int longRowThreads = 512;

/// What a row takes of shared memory: some of its products, and sums in as many slots as there are columns or, if that is less, in
/// a table of its entries.
struct LongRoom {
  bool direct; // a slot a column
  int slots, entries, topWords, words;

  static constexpr int productsAtOnce = 2048;

  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    const std::size_t table = direct ? 0 : entries * sizeof(V) + slots * sizeof(int);
    return (RowPieces<V>::bytes() + productsAtOnce * (sizeof(V) + sizeof(std::uint16_t)) + (slots * sizeof(V) + 7) / 8 * 8 + table
            + rowScratch * sizeof(int) + ColumnRanks::bytes(topWords + words) + 15)
           / 16 * 16;
  }
};

/// The same, as kernels see it.
template <class V>
struct LongRow {
  RowPieces<V> pieces;
  V *value, *sums, *sorted; // of products; of slots; of entries
  ColumnTable table;
  int* scratch;
  ColumnRanks ranks;
  std::uint16_t* slot; // of products

  __device__ LongRow(unsigned char* memory, const LongRoom& room) : pieces(memory)
  {
    value = reinterpret_cast<V*>(memory + RowPieces<V>::bytes());
    sums = value + LongRoom::productsAtOnce;
    sorted = reinterpret_cast<V*>(reinterpret_cast<unsigned char*>(sums) + (room.slots * sizeof(V) + 7) / 8 * 8);
    table.column = reinterpret_cast<int*>(sorted + (room.direct ? 0 : room.entries));
    table.slots = room.slots;
    scratch = table.column + (room.direct ? 0 : room.slots);
    ranks.top = reinterpret_cast<unsigned*>(scratch + rowScratch);
    ranks.words = ranks.top + room.topWords;
    ranks.topBefore = reinterpret_cast<std::uint16_t*>(ranks.words + room.words);
    ranks.before = ranks.topBefore + room.topWords;
    slot = ranks.before + room.words;
  }

  /// Columns and sums in order, if slots are those of a table.
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
    const int entries =
        ranks.fill(group, low, high, scratch, [&](auto&& body) { forSlots([&](int i) { body(table.column[i]); }); });
    auto* const sortedColumns = reinterpret_cast<std::uint32_t*>(sorted);
    forSlots([&](int i) {
      const int place = ranks.rankOf(table.column[i]);
      sortedColumns[place] = static_cast<std::uint32_t>(table.column[i]);
      table.column[i] = place; // from here on the slot knows its place
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

  /// The same if there is a slot for each of 32 `words` columns, once they are ranked.
  __device__ __forceinline__ void writeSlots(const RowGroup& group, int words, std::uint32_t* columns, V* values)
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

/// A block a row: its products are brought to shared memory some at a time and added in the order of the entries of A. Reads
/// 12 + sizeof(V) bytes an entry of A and 4 + sizeof(V) a product, writes 4 + sizeof(V) an entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(longRowThreads)
    multiplyLongRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, LongRoom room, RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const RowGroup group(longRowThreads);
  const std::uint32_t row = list[blockIdx.x];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  LongRow<V> shared(memory, room);
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
    const int count = static_cast<int>(min(last - e, std::uint64_t{RowPieces<V>::atOnce}));
    shared.pieces.bring(group, a, b, e, count);
    const int total = shared.pieces.end[count - 1];
    all += total;
    for (int start = 0; start < total; start += LongRoom::productsAtOnce) {
      const int products = min(LongRoom::productsAtOnce, total - start);
      shared.pieces.forProducts(ring, group, b, start, start + products, [&](int i, int column, V product) {
        int slot = column;
        if (room.direct) {
          setBit(shared.ranks.words, column);
        } else {
          bool isNew;
          slot = shared.table.find(column, isNew);
        }
        shared.slot[i] = static_cast<std::uint16_t>(slot);
        shared.value[i] = product;
      });
      group.sync();
      const int firstPiece = shared.pieces.pieceOf(start);
      addPiecesInOrder(
          group, shared.pieces.pieceOf(start + products - 1) - firstPiece + 1, products,
          [&](int piece) { return min(shared.pieces.end[firstPiece + piece] - start, products); },
          [&](int i) {
            return PlacedProduct<V>{shared.slot[i], shared.value[i]};
          },
          [&](const PlacedProduct<V>& of) { shared.sums[of.place] = ring.add(shared.sums[of.place], of.product); });
    }
  }
  if (room.direct) {
    const int entries = rankBits(group, shared.ranks.words, shared.ranks.before, room.words, shared.scratch);
    bool isMade = true;
    const auto products = static_cast<std::uint32_t>(min(all, std::uint64_t{0xffffffff}));
    const bool isForAnother = !c.rowStart && isForWarp(products, entries); // then only its size is told
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
