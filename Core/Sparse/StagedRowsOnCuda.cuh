#pragma once

#include "Core/Sparse/ColumnTable.cuh"

namespace tessera {

/// Most threads of kernels that bring products of rows to shared memory first.
constexpr int mostStagedThreads = 512;

/// What a row takes of shared memory: its products, and ranks of their columns.
struct StagedRoom {
  int threads, rowsABlock; // of a row; of a block
  int products, topWords;  // at most

  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    const std::size_t ofProduct = sizeof(V) + sizeof(int) + 2 * sizeof(std::uint16_t); // value, column, place, end of a piece
    return (RowPieces<V>::bytes() + rowScratch * sizeof(int) + products * (ofProduct + reused<V>()) + ColumnRanks::bytes(topWords)
            + 15)
           / 16 * 16;
  }
  /// Bytes a product of what is first words of columns, then columns in order, then sums.
  template <class V>
  static __host__ __device__ constexpr std::size_t reused()
  {
    return sizeof(V) > 6 ? sizeof(V) : 6;
  }
};

/// The same, as kernels see it.
template <class V>
struct StagedRow {
  RowPieces<V> pieces;
  V *value, *sums;
  std::uint32_t* sortedColumns;
  int *column, *scratch;
  std::uint16_t *place, *end;
  ColumnRanks ranks;

  __device__ StagedRow(unsigned char* memory, const StagedRoom& room) : pieces(memory)
  {
    unsigned char* const reused = memory + RowPieces<V>::bytes();
    sums = reinterpret_cast<V*>(reused);
    sortedColumns = reinterpret_cast<std::uint32_t*>(reused);
    ranks.words = reinterpret_cast<unsigned*>(reused);
    ranks.before = reinterpret_cast<std::uint16_t*>(ranks.words + room.products);
    value = reinterpret_cast<V*>(reused + room.products * StagedRoom::reused<V>());
    column = reinterpret_cast<int*>(value + room.products);
    scratch = column + room.products;
    ranks.top = reinterpret_cast<unsigned*>(scratch + rowScratch);
    ranks.topBefore = reinterpret_cast<std::uint16_t*>(ranks.top + room.topWords);
    place = ranks.topBefore + room.topWords;
    end = place + room.products;
  }
};

/// Rows whose products fit into shared memory: they are brought there, each finds its place in the row, and sums are made in the
/// order of the entries of A. Reads 12 + sizeof(V) bytes an entry of A and 4 + sizeof(V) a product, writes 4 + sizeof(V) an entry
/// of C.
template <class V, class Ring>
__global__ void __launch_bounds__(mostStagedThreads, 2)
    multiplyStagedRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, std::uint32_t count, StagedRoom room, RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const RowGroup group(room.threads);
  const unsigned ofBlock = threadIdx.x / static_cast<unsigned>(room.threads);
  const std::uint32_t task = blockIdx.x * room.rowsABlock + ofBlock;
  if (task >= count)
    return;
  const std::uint32_t row = list[task];
  const std::uint64_t first = a.rowStart[row], last = a.rowStart[row + 1];
  StagedRow<V> shared(memory + ofBlock * room.bytes<V>(), room);
  Ring ring;
  int products = 0, pieces = 0, low = 0x7fffffff, high = 0;
  for (std::uint64_t e = first; e < last; e += RowPieces<V>::atOnce) {
    const int count = static_cast<int>(min(last - e, std::uint64_t{RowPieces<V>::atOnce}));
    shared.pieces.bring(group, a, b, e, count);
    const int total = shared.pieces.end[count - 1];
    shared.pieces.forProducts(ring, group, b, 0, total, [&](int i, int column, V product) {
      shared.column[products + i] = column;
      shared.value[products + i] = product;
      low = min(low, column);
      high = max(high, column);
    });
    for (int i = group.rank % 32; i - group.rank % 32 < count; i += 32) { // every warp counts, one writes
      const bool hasAny = i < count && shared.pieces.end[i] > (i > 0 ? shared.pieces.end[i - 1] : 0);
      const unsigned all = __ballot_sync(~0u, hasAny);
      if (hasAny && group.rank < 32)
        shared.end[pieces + __popc(all & bitsBefore(i))] = static_cast<std::uint16_t>(products + shared.pieces.end[i]);
      pieces += __popc(all);
    }
    products += total;
  }
  group.sync();
  const auto forProducts = [&](auto&& body) {
    for (int i = group.rank; i < products; i += group.threads)
      body(i);
  };
  const int entries = shared.ranks.fill(group, low, high, shared.scratch,
                                        [&](auto&& body) { forProducts([&](int i) { body(shared.column[i]); }); });
  bool isMade = true;
  const bool isForAnother = !c.rowStart && isForWarp(products, entries); // then only its size is told
  const std::uint64_t to = placeOfRow(group, c, row, entries, shared.scratch, isMade, isForAnother);
  if (!isMade)
    return;
  forProducts([&](int i) { shared.place[i] = static_cast<std::uint16_t>(shared.ranks.rankOf(shared.column[i])); });
  group.sync();
  forProducts([&](int i) { shared.sortedColumns[shared.place[i]] = static_cast<std::uint32_t>(shared.column[i]); });
  group.sync();
  for (int i = group.rank; i < entries; i += group.threads)
    c.column[to + i] = shared.sortedColumns[i];
  group.sync();
  for (int i = group.rank; i < entries; i += group.threads)
    shared.sums[i] = Ring::zero;
  group.sync();
  addPiecesInOrder(
      group, pieces, products, [&](int piece) { return static_cast<int>(shared.end[piece]); },
      [&](int i) {
        return PlacedProduct<V>{shared.place[i], shared.value[i]};
      },
      [&](const PlacedProduct<V>& of) { shared.sums[of.place] = ring.add(shared.sums[of.place], of.product); });
  for (int i = group.rank; i < entries; i += group.threads)
    c.value[to + i] = shared.sums[i];
  c.report(ring);
}

}
