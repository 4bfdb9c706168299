#pragma once

#include "Core/Sparse/Analysis/WarpScan.cuh"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// The columns of a row are found as bits in two levels: words of 32 columns, and top words with a bit for
/// each word that has a column.
constexpr int columnsAWord = 32, columnsATopWord = 32 * columnsAWord;

/// A piece: the row of B, or a part of it, that an entry of A is multiplied with. Each lane holds one; its
/// length is 0 if the lane has none.
struct RowPiece {
  std::uint64_t from = 0;
  int length = 0;
};

/// The row of B that entry `e` of A is multiplied with.
__device__ __forceinline__ RowPiece rowOfB(const PatternView& a, const PatternView& b, std::uint64_t e)
{
  const std::uint32_t k = a.column[e];
  const std::uint64_t from = b.rowStart[k];
  return {from, static_cast<int>(b.rowStart[k + 1] - from)};
}

/// The first of entries [low, high) of a row whose column is at least `column`.
__device__ __forceinline__ std::uint64_t lowerBound(const PatternView& b, std::uint64_t low,
                                                    std::uint64_t high, std::uint32_t column)
{
  while (low < high) {
    const std::uint64_t middle = (low + high) >> 1;
    if (b.column[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Calls body(column, value of A, value of B) for the products of all lanes' pieces, one piece after the
/// other. So no two lanes have the same column at the same time, and what they write is visible to the next
/// piece. The whole warp must call it.
template <class V, class Body>
__device__ __forceinline__ void forPiecesInOrder(const RowPiece& piece, V ofA, const CsrView<V>& b,
                                                 Body&& body)
{
  constexpr int together = 4; // loads that overlap
  const int lane = threadIdx.x % 32;
  for (unsigned todo = __ballot_sync(~0u, piece.length > 0); todo != 0; todo &= todo - 1) {
    const int owner = __ffs(todo) - 1;
    const std::uint64_t from = __shfl_sync(~0u, piece.from, owner);
    const int length = __shfl_sync(~0u, piece.length, owner);
    const V factor = __shfl_sync(~0u, ofA, owner);
    const std::uint32_t* const columns = b.column + from;
    const V* const values = b.value + from;
    for (int first = lane; first - lane < length; first += 32 * together) {
      int column[together];
      V ofB[together];
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (first + 32 * u < length) {
          column[u] = static_cast<int>(columns[first + 32 * u]);
          ofB[u] = values[first + 32 * u];
        }
#pragma unroll
      for (int u = 0; u < together; ++u)
        if (first + 32 * u < length)
          body(column[u], factor, ofB[u]);
    }
    __syncwarp();
  }
}

/// Calls body(column) for the products of all lanes' pieces in any order. Long pieces come one after the
/// other; short ones are joined, so that all lanes have work. The whole warp must call it.
template <class Body>
__device__ __forceinline__ void forPiecesInAnyOrder(const RowPiece& piece, const PatternView& b, Body&& body)
{
  constexpr int longPiece = 64, together = 4; // together: loads that overlap
  const int lane = threadIdx.x % 32;
  int total = 0;
  const int start = warpExclusive(piece.length, total);
  unsigned todo = __ballot_sync(~0u, piece.length > 0);
  if (total >= longPiece * __popc(todo)) {
    for (; todo != 0; todo &= todo - 1) {
      const int owner = __ffs(todo) - 1;
      const std::uint32_t* const columns = b.column + __shfl_sync(~0u, piece.from, owner);
      const int length = __shfl_sync(~0u, piece.length, owner);
      for (int first = lane; first - lane < length; first += 32 * together) {
        int column[together];
#pragma unroll
        for (int u = 0; u < together; ++u)
          if (first + 32 * u < length)
            column[u] = static_cast<int>(columns[first + 32 * u]);
#pragma unroll
        for (int u = 0; u < together; ++u)
          if (first + 32 * u < length)
            body(column[u]);
      }
    }
    return;
  }
  for (int first = lane; first - lane < total; first += 32 * together) {
    int column[together];
#pragma unroll
    for (int u = 0; u < together; ++u) {
      if (first - lane + 32 * u >= total)
        continue; // true for all lanes or none
      const int position = first + 32 * u, owner = ownerOf<32>(position, start);
      const std::uint64_t from = __shfl_sync(~0u, piece.from, owner);
      const int startOfOwner = __shfl_sync(~0u, start, owner);
      if (position < total)
        column[u] = static_cast<int>(b.column[from + (position - startOfOwner)]);
    }
#pragma unroll
    for (int u = 0; u < together; ++u)
      if (first + 32 * u < total)
        body(column[u]);
  }
}

}
