#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/WarpScan.cuh"

#include <cstdint>

namespace tessera {

/// Columns of a row are found as bits in two levels: words of columns, and words of words that have any.
constexpr int columnsAWord = 32, columnsATopWord = 32 * columnsAWord;

/// A piece of a row of B that meets an entry of A; a lane has one, of length 0 if none.
struct RowPiece {
  std::uint64_t from = 0;
  int length = 0;
};

/// The row of B that entry `e` of A meets.
__device__ __forceinline__ RowPiece rowOfB(const PatternView& a, const PatternView& b, std::uint64_t e)
{
  const std::uint32_t k = a.column[e];
  const std::uint64_t from = b.rowStart[k];
  return {from, static_cast<int>(b.rowStart[k + 1] - from)};
}

/// The first of entries [low, high) of a row whose column is not below `column`.
__device__ __forceinline__ std::uint64_t lowerBound(const PatternView& b, std::uint64_t low, std::uint64_t high,
                                                    std::uint32_t column)
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

/// Calls body(column, of A, of B) for the entries of the lanes' pieces, one piece after the other: 32 entries at a time, so that no
/// two lanes have the same column, and what they write is seen by the next. Entries are fetched a step before. Whole warps call it.
template <class V, class Body>
__device__ __forceinline__ void forPiecesInOrder(const RowPiece& piece, V ofA, const CsrView<V>& b, Body&& body)
{
  const int lane = threadIdx.x % 32;
  unsigned todo = __ballot_sync(~0u, piece.length > 0);
  std::uint64_t at = 0;
  int left = 0, owner = 0, column = -1;
  V ofB = 0;
  const auto advance = [&] {
    at += 32;
    left -= 32;
    if (left <= 0 && todo != 0) {
      owner = __ffs(todo) - 1;
      todo &= todo - 1;
      at = __shfl_sync(~0u, piece.from, owner);
      left = __shfl_sync(~0u, piece.length, owner);
    }
    column = -1;
    if (lane < left) {
      column = static_cast<int>(b.column[at + lane]);
      ofB = b.value[at + lane];
    }
  };
  advance();
  while (left > 0) {
    const int columnNow = column;
    const V ofBNow = ofB, ofANow = __shfl_sync(~0u, ofA, owner);
    advance();
    if (columnNow >= 0)
      body(columnNow, ofANow, ofBNow);
    __syncwarp();
  }
}

/// Calls body(column) for the entries of the lanes' pieces, lanes side by side across pieces. Whole warps call it.
template <class Body>
__device__ __forceinline__ void forPiecesAtOnce(const RowPiece& piece, const PatternView& b, Body&& body)
{
  const int lane = threadIdx.x % 32;
  int total = 0;
  const int start = warpExclusive(piece.length, total);
  for (int first = 0; first < total; first += 32) {
    const int position = first + lane, owner = ownerOf<32>(position, start);
    const std::uint64_t from = __shfl_sync(~0u, piece.from, owner);
    const int startOfOwner = __shfl_sync(~0u, start, owner);
    if (position < total)
      body(static_cast<int>(b.column[from + (position - startOfOwner)]));
  }
}

}
