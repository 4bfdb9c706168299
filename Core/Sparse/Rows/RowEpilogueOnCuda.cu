#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Rows/RowPiecesOnCuda.cuh"
#include "Core/Sparse/Rows/RowRingOnCuda.cuh"

#include <algorithm>
#include <string>

namespace tessera {
namespace {

constexpr int epilogueThreads = 256, epilogueRowsABlock = epilogueThreads / 32;

/// The row that this warp works on.
__device__ std::size_t rowOfWarp()
{
  return blockIdx.x * std::size_t{epilogueRowsABlock} + threadIdx.x / 32;
}

/// The result of a search: whether a row has a column, and how many entries it has before it.
struct Found {
  bool has;
  std::uint64_t before;
};

__device__ Found find(const PatternView& matrix, std::size_t row, std::uint32_t column)
{
  const std::uint64_t first = matrix.rowStart[row], last = matrix.rowStart[row + 1];
  const std::uint64_t at = lowerBound(matrix, first, last, column);
  return {at < last && matrix.column[at] == column, at - first};
}

struct KeepMasked {
  PatternView mask;
  bool complement;

  template <class V>
  __device__ bool operator()(std::size_t row, std::uint64_t, std::uint32_t column, V) const
  {
    return find(mask, row, column).has != complement;
  }
};

struct KeepLarge {
  double tolerance;

  template <class V>
  __device__ bool operator()(std::size_t, std::uint64_t, std::uint32_t, V value) const
  {
    return !(fabs(static_cast<double>(value)) <= tolerance); // keeps values that are not a number
  }
};

struct KeepMet {
  const std::uint8_t* met;

  template <class V>
  __device__ bool operator()(std::size_t, std::uint64_t entry, std::uint32_t, V) const
  {
    return met[entry] != 0;
  }
};

/// Counts the entries of each row that stay; a warp for each row. Memory traffic: reads 4 + sizeof(V) bytes
/// for each entry, writes 4 for each row.
template <class V, class Keep>
__global__ void __launch_bounds__(epilogueThreads) countKept(CsrView<V> c, Keep keep, std::uint32_t* counts)
{
  const std::size_t row = rowOfWarp();
  if (row >= c.rows)
    return;
  const int lane = threadIdx.x % 32;
  int kept = 0;
  for (std::uint64_t e = c.rowStart[row] + lane; e < c.rowStart[row + 1]; e += 32)
    kept += keep(row, e, c.column[e], c.value[e]);
  kept = groupSum<32>(kept);
  if (lane == 0)
    counts[row] = kept;
}

/// Copies the entries that stay; a warp for each row. Memory traffic: reads and writes 4 + sizeof(V) bytes
/// for each entry.
template <class V, class Keep>
__global__ void __launch_bounds__(epilogueThreads) copyKept(CsrView<V> c, Keep keep, RowTarget<V> to)
{
  const std::size_t row = rowOfWarp();
  if (row >= c.rows)
    return;
  const int lane = threadIdx.x % 32;
  const std::uint64_t last = c.rowStart[row + 1];
  std::uint64_t at = to.rowStart[row];
  for (std::uint64_t e = c.rowStart[row]; e < last; e += 32) {
    const bool has = e + lane < last;
    const std::uint32_t column = has ? c.column[e + lane] : 0;
    const V value = has ? c.value[e + lane] : V(0);
    const bool kept = has && keep(row, e + lane, column, value);
    const unsigned all = __ballot_sync(~0u, kept);
    if (kept) {
      to.column[at + __popc(all & bitsBefore(lane))] = column;
      to.value[at + __popc(all & bitsBefore(lane))] = value;
    }
    at += __popc(all);
  }
}

/// Multiplies by powers of two and by the scale; a warp for each row. Memory traffic: reads and writes
/// sizeof(V) bytes for each entry, and with exponents reads its column.
template <class V, class Ring>
__global__ void __launch_bounds__(epilogueThreads)
    scaleRows(CsrView<V> c, V* values, const std::int32_t* rowExponent, const std::int32_t* columnExponent,
              V scale, std::uint32_t* overflowed)
{
  const std::size_t row = rowOfWarp();
  if (row >= c.rows)
    return;
  Ring ring;
  for (std::uint64_t e = c.rowStart[row] + threadIdx.x % 32; e < c.rowStart[row + 1]; e += 32) {
    V value = c.value[e];
    if constexpr (std::is_same_v<V, float>)
      if (rowExponent)
        value = ldexpf(value, rowExponent[row] + columnExponent[c.column[e]]);
    values[e] = ring.product(scale, value);
  }
  RowTarget<V>{nullptr, nullptr, nullptr, overflowed, {}}.report(ring);
}

/// Counts the entries of each row of C + D; a warp for each row. Memory traffic: reads 4 bytes for each entry
/// of C, writes 4 for each row.
template <class V>
__global__ void __launch_bounds__(epilogueThreads)
    countJoined(CsrView<V> c, CsrView<V> d, std::uint32_t* counts)
{
  const std::size_t row = rowOfWarp();
  if (row >= c.rows)
    return;
  int alone = 0;
  for (std::uint64_t e = c.rowStart[row] + threadIdx.x % 32; e < c.rowStart[row + 1]; e += 32)
    alone += !find(d, row, c.column[e]).has;
  alone = groupSum<32>(alone);
  if (threadIdx.x % 32 == 0)
    counts[row] = static_cast<std::uint32_t>(d.rowStart[row + 1] - d.rowStart[row] + alone);
}

/// Calls body(entry, column, result of the search in the other matrix, number of earlier entries that both
/// have) for the entries of a row; a whole warp must call it.
template <class V, class Body>
__device__ void forEntriesBeside(const CsrView<V>& own, const CsrView<V>& other, std::size_t row, Body&& body)
{
  const int lane = threadIdx.x % 32;
  const std::uint64_t last = own.rowStart[row + 1];
  std::uint64_t common = 0;
  for (std::uint64_t e = own.rowStart[row]; e < last; e += 32) {
    const bool has = e + lane < last;
    const std::uint32_t column = has ? own.column[e + lane] : 0;
    const Found found = has ? find(other, row, column) : Found{false, 0};
    const unsigned all = __ballot_sync(~0u, found.has);
    if (has)
      body(e + lane, column, found, common + __popc(all & bitsBefore(lane)));
    common += __popc(all);
  }
}

/// Writes C + D; a warp for each row. First the entries of C with those of D added, then those that only D
/// has. Memory traffic: reads and writes 4 + sizeof(V) bytes for each entry of both.
template <class V, class Ring>
__global__ void __launch_bounds__(epilogueThreads) joinRows(CsrView<V> c, CsrView<V> d, RowTarget<V> to)
{
  const std::size_t row = rowOfWarp();
  if (row >= c.rows)
    return;
  Ring ring;
  const std::uint64_t start = to.rowStart[row];
  forEntriesBeside(c, d, row, [&](std::uint64_t e, std::uint32_t column, Found ofD, std::uint64_t common) {
    const std::uint64_t at = start + (e - c.rowStart[row]) + ofD.before - common;
    to.column[at] = column;
    to.value[at] = ofD.has ? ring.add(c.value[e], d.value[d.rowStart[row] + ofD.before]) : c.value[e];
  });
  forEntriesBeside(d, c, row, [&](std::uint64_t e, std::uint32_t column, Found ofC, std::uint64_t common) {
    const std::uint64_t at = start + (e - d.rowStart[row]) + ofC.before - common;
    if (!ofC.has) {
      to.column[at] = column;
      to.value[at] = d.value[e];
    }
  });
  to.report(ring);
}

unsigned blocksFor(std::size_t rows)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(rows, epilogueRowsABlock));
}

/// Makes a matrix of the size of `like`: `count` launches a kernel that counts the entries of each row,
/// `fill` one that writes them.
template <class V, class Count, class Fill>
CsrOnCuda<V> made(const Context& context, const CsrView<V>& like, std::uint32_t* overflowed, Count&& count,
                  Fill&& fill)
{
  Buffer<std::uint32_t> counts(context, like.rows + 1);
  count(counts.span().data());
  checkLaunch("entries of rows");
  CsrOnCuda<V> result;
  result.rows = like.rows;
  result.columns = like.columns;
  result.rowStart = Buffer<std::uint64_t>(context, like.rows + 1);
  scanOnCuda(context, like.rows, counts.span().data(), result.rowStart.span().data());
  context.stream->copyToHost(&result.entries, result.rowStart.span().data() + like.rows,
                             sizeof(std::uint64_t));
  result.column = Buffer<std::uint32_t>(context, std::max<std::uint64_t>(result.entries, 1));
  result.value = Buffer<V>(context, std::max<std::uint64_t>(result.entries, 1));
  fill(RowTarget<V>{result.rowStart.span().data(),
                    result.column.span().data(),
                    result.value.span().data(),
                    overflowed,
                    {}});
  checkLaunch("rows that change");
  return result;
}

template <class V, class Keep>
CsrOnCuda<V> kept(const Context& context, const CsrView<V>& c, const Keep& keep)
{
  const cudaStream_t stream = cudaStreamOf(context);
  return made(
      context, c, nullptr,
      [&](std::uint32_t* counts) {
        countKept<V, Keep><<<blocksFor(c.rows), epilogueThreads, 0, stream>>>(c, keep, counts);
      },
      [&](const RowTarget<V>& to) {
        copyKept<V, Keep><<<blocksFor(c.rows), epilogueThreads, 0, stream>>>(c, keep, to);
      });
}

}

void checkOverflowOnCuda(const Context& context, const std::uint32_t* overflowed)
{
  std::uint32_t beyond = 0;
  context.stream->copyToHost(&beyond, overflowed, sizeof beyond);
  if (beyond)
    throw Error(ExitCode::usage, "precision int64: A B on CUDA: a product or sum is beyond 64 bits. Allowed: "
                                 "smaller integers, or precision f64.");
}

template <class V>
CsrOnCuda<V> keptWhereMet(const Context& context, const CsrView<V>& c, const std::uint8_t* met)
{
  return kept(context, c, KeepMet{met});
}

template <class V>
CsrOnCuda<V> RowEpilogueOnCuda<V>::apply(const Context& context, Semiring semiring, CsrOnCuda<V> c) const
{
  if (c.rows == 0)
    return c;
  const cudaStream_t stream = cudaStreamOf(context);
  Buffer<std::uint32_t> overflowed(context, 1);
  context.stream->fill(overflowed.span().data(), 0, sizeof(std::uint32_t));
  if (mask)
    c = kept(context, c.view(), KeepMasked{*mask, complementMask});
  if (scale || rowExponent) {
    scaleRows<V, PlusTimes<V>><<<blocksFor(c.rows), epilogueThreads, 0, stream>>>(
        c.view(), c.value.span().data(), rowExponent, columnExponent, scale.value_or(1),
        overflowed.span().data());
    checkLaunch("scaling rows");
  }
  if (accumulate)
    withSemiring<V>(semiring, [&](auto ring) {
      c = made(
          context, c.view(), overflowed.span().data(),
          [&](std::uint32_t* counts) {
            countJoined<V><<<blocksFor(c.rows), epilogueThreads, 0, stream>>>(c.view(), *accumulate, counts);
          },
          [&](const RowTarget<V>& to) {
            joinRows<V, decltype(ring)>
                <<<blocksFor(c.rows), epilogueThreads, 0, stream>>>(c.view(), *accumulate, to);
          });
    });
  if (dropTolerance)
    c = kept(context, c.view(), KeepLarge{*dropTolerance});
  if constexpr (std::is_same_v<V, std::int64_t>)
    checkOverflowOnCuda(context, overflowed.span().data());
  return c;
}

#define TESSERA_FOR_VALUE(V)                                                                                 \
  template struct RowEpilogueOnCuda<V>;                                                                      \
  template CsrOnCuda<V> keptWhereMet(const Context&, const CsrView<V>&, const std::uint8_t*);
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
