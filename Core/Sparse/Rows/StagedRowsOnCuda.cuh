#pragma once

#include "Core/Sparse/Rows/ColumnTable.cuh"

namespace tessera {

/// The largest number of threads of kernels that stage the products of a row in shared memory.
constexpr int maxStagedThreads = 512;

/// The shared memory of a row: its products and the ranks of their columns.
struct StagedRoom {
  int products, topWords; // largest numbers; `products` is a multiple of 32

  template <class V>
  __host__ __device__ std::size_t bytes() const
  {
    const std::size_t ofProduct =
        sizeof(V) + sizeof(int) + 2 * sizeof(std::uint16_t); // value, column, place, end of a piece
    return (RowPieces<V>::bytes() + rowScratch * sizeof(int) + PieceMarks::bytes(products)
            + products * (ofProduct + reused<V>()) + ColumnRanks::bytes(topWords) + 15)
           / 16 * 16;
  }
  /// Bytes for each product in memory that is used three times: for words of columns with the columns before
  /// them, then for the columns in order, then for the sums.
  template <class V>
  static __host__ __device__ constexpr std::size_t reused()
  {
    return sizeof(V) > 6 ? sizeof(V) : 6;
  }
};

/// The arrays of a row in shared memory.
template <class V>
struct StagedRow {
  RowPieces<V> pieces;
  V *value, *sums;
  std::uint32_t* sortedColumns;
  int *column, *scratch;
  std::uint16_t *place, *end; // places of products; ends of pieces
  PieceMarks marks;
  ColumnRanks ranks;

  __device__ StagedRow(unsigned char* memory, const StagedRoom& room)
      : pieces(memory), sums(reinterpret_cast<V*>(memory + RowPieces<V>::bytes())),
        sortedColumns(reinterpret_cast<std::uint32_t*>(sums)),
        marks(memory + RowPieces<V>::bytes()
                  + room.products * (StagedRoom::reused<V>() + sizeof(V) + sizeof(int)),
              room.products)
  {
    ranks.words = reinterpret_cast<unsigned*>(sums);
    ranks.before = reinterpret_cast<std::uint16_t*>(ranks.words + room.products);
    value = reinterpret_cast<V*>(memory + RowPieces<V>::bytes() + room.products * StagedRoom::reused<V>());
    column = reinterpret_cast<int*>(value + room.products);
    scratch = reinterpret_cast<int*>(reinterpret_cast<unsigned char*>(column + room.products)
                                     + PieceMarks::bytes(room.products));
    ranks.top = reinterpret_cast<unsigned*>(scratch + rowScratch);
    ranks.topBefore = reinterpret_cast<std::uint16_t*>(ranks.top + room.topWords);
    place = ranks.topBefore + room.topWords;
    end = place + room.products;
  }

  /// Brings all products of entries [first, last) of A to shared memory. `low` and `high` become the smallest
  /// and the largest column among the thread's products.
  template <class Ring>
  __device__ __forceinline__ BroughtPieces bring(Ring& ring, const RowGroup& group, const CsrView<V>& a,
                                                 const CsrView<V>& b, std::uint64_t first, std::uint64_t last,
                                                 int& low, int& high) const
  {
    return pieces.bringAll(
        group, a, b, first, last, [&](const BroughtPieces& before, const BroughtPieces& now) {
          marks.fill(group, now, pieces.end);
          pieces.forProducts(ring, group, b, 0, now.products, marks, [&](int i, int ofColumn, V product) {
            column[before.products + i] = ofColumn;
            value[before.products + i] = product;
            low = min(low, ofColumn);
            high = max(high, ofColumn);
          });
          for (int i = group.rank; i < now.pieces; i += group.threads)
            end[before.pieces + i] = static_cast<std::uint16_t>(before.products + pieces.end[i]);
        });
  }
};

/// Computes rows whose products fit into shared memory; a block for each row.
/// bring all products of the row to shared memory
/// mark their columns as bits; the rank of a column is its place in the row
/// sort the columns by these places and write them
/// add the products to the sums at their places, in the order of the entries of A; write the sums
/// Memory traffic: reads 12 + sizeof(V) bytes for each entry of A and 4 + sizeof(V) for each product; writes
/// 4 + sizeof(V) for each entry of C.
template <class V, class Ring>
__global__ void __launch_bounds__(maxStagedThreads, 2)
    multiplyStagedRows(CsrView<V> a, CsrView<V> b, const std::uint32_t* list, StagedRoom room, RowTarget<V> c)
{
  extern __shared__ __align__(16) unsigned char memory[];
  const RowGroup group(static_cast<int>(blockDim.x));
  const std::uint32_t row = list[blockIdx.x];
  const StagedRow<V> shared(memory, room);
  Ring ring;
  int low = 0x7fffffff, high = 0;
  const BroughtPieces all = shared.bring(ring, group, a, b, a.rowStart[row], a.rowStart[row + 1], low, high);
  const auto forProducts = [&](auto&& body) {
    for (int i = group.rank; i < all.products; i += group.threads)
      body(i);
  };
  ColumnRanks ranks = shared.ranks;
  const int entries = ranks.fill(group, low, high, shared.scratch,
                                 [&](auto&& body) { forProducts([&](int i) { body(shared.column[i]); }); });
  bool isMade = true;
  const bool isForAnother =
      !c.rowStart && isForWarp(all.products, entries); // then only the size is recorded here
  const std::uint64_t to = placeOfRow(group, c, row, entries, shared.scratch, isMade, isForAnother);
  if (!isMade)
    return;
  forProducts([&](int i) { shared.place[i] = static_cast<std::uint16_t>(ranks.rankOf(shared.column[i])); });
  group.sync();
  forProducts(
      [&](int i) { shared.sortedColumns[shared.place[i]] = static_cast<std::uint32_t>(shared.column[i]); });
  group.sync();
  for (int i = group.rank; i < entries; i += group.threads)
    c.column[to + i] = shared.sortedColumns[i];
  group.sync();
  for (int i = group.rank; i < entries; i += group.threads)
    shared.sums[i] = Ring::zero;
  group.sync();
  addPiecesInOrder(
      group, all.pieces, all.products, [&](int piece) { return static_cast<int>(shared.end[piece]); },
      [&](int i) {
        return PlacedProduct<V>{shared.place[i], shared.value[i]};
      },
      [&](const PlacedProduct<V>& of) {
        shared.sums[of.place] = ring.add(shared.sums[of.place], of.product);
      });
  for (int i = group.rank; i < entries; i += group.threads)
    c.value[to + i] = shared.sums[i];
  c.report(ring);
}

}
