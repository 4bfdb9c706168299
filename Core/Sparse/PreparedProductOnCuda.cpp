#include "Core/Sparse/PreparedProductOnCuda.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Core/Sparse/PreparedProduct.h"
#include "Core/Sparse/Rows/RowSharesOnCuda.h"

#include <algorithm>
#include <span>
#include <stdexcept>

namespace tessera {
namespace {

template <class T>
std::span<const T> firstOrOne(const Array<T>& array)
{
  static constexpr T none{};
  return array.empty() ? std::span<const T>(&none, 1) : array.span(); // an allocation of 0 bytes fails
}

}

template <class V>
CsrMatrix<V> joinedRanges(std::size_t rows, std::size_t columns, const std::vector<CsrMatrix<V>>& ranges)
{
  CsrMatrix<V> all = emptyMatrix<V>(rows, columns);
  std::size_t row = 0;
  for (const CsrMatrix<V>& range : ranges) {
    const std::uint64_t before = all.rowStart[row];
    for (std::size_t i = 0; i < range.rows; ++i)
      all.rowStart[++row] = before + range.rowStart[i + 1];
  }
  all.column = Array<std::uint32_t>(all.entries());
  all.value = Array<V>(all.entries());
  std::uint64_t at = 0;
  for (const CsrMatrix<V>& range : ranges) {
    std::copy(range.column.begin(), range.column.end(), all.column.begin() + at);
    std::copy(range.value.begin(), range.value.end(), all.value.begin() + at);
    at += range.entries();
  }
  return all;
}

template <class V>
PreparedProductOnCuda<V>::PreparedProductOnCuda(const Context& context, const CsrMatrix<V>& givenA,
                                                const CsrMatrix<V>& givenB, const SpGemmOptions<V>& options)
    : context_(context), options_(options), onCuda_{.semiring = options.semiring,
                                                    .algorithm = options.algorithm,
                                                    .maxMemoryBytes = options.maxMemoryBytes},
      spGemm_(context)
{
  CsrMatrix<V> a = preparedOperand(context, givenA, options.transposeA, "A"), b;
  const bool same = givenA.isSame(givenB) && givenA.value.data() == givenB.value.data()
                    && options.transposeA == options.transposeB;
  if (!same)
    b = preparedOperand(context, givenB, options.transposeB, "B");
  rows_ = a.rows;
  columns_ = same ? a.columns : b.columns;
  checkOptionsOf(context, rows_, columns_, options);
  if (options.algorithm == SpGemmAlgorithm::tsparse) {
    if (!options.half)
      throw Error(ExitCode::usage, "A B: algorithm tsparse: it multiplies numbers of half precision. "
                                   "Allowed: half precision (f16), or "
                                   "another algorithm.");
    tSparse_.emplace(context);
  }
  bool separate = !same;
  if constexpr (std::is_same_v<V, float>)
    if (options.half && !tSparse_) {
      HalfScaled halfA = halfScaledRows(context, a), halfB = halfScaledColumns(context, same ? a : b);
      a = std::move(halfA.matrix);
      b = std::move(halfB.matrix);
      rowExponent_.fromHost(context, halfA.exponent.empty() ? std::vector<std::int32_t>(1) : halfA.exponent);
      columnExponent_.fromHost(context,
                               halfB.exponent.empty() ? std::vector<std::int32_t>(1) : halfB.exponent);
      separate = true;
    }
  a_ = broughtToCuda(context, a, "A");
  if (separate)
    b_ = broughtToCuda(context, b, "B");
  if (options.mask) {
    maskStart_.fromHost(context, options.mask->rowStart.span());
    maskColumn_.fromHost(context, firstOrOne(options.mask->column));
  }
  if (options.accumulate)
    accumulate_ = broughtToCuda(context, *options.accumulate, "D");
}

template <class V>
SpGemmReport PreparedProductOnCuda<V>::describe()
{
  SpGemmOnCudaOptions described = onCuda_;
  if (tSparse_)
    described.algorithm = SpGemmAlgorithm::tiles;
  SpGemmReport report = spGemm_.describe(a_, b_ ? *b_ : a_, described);
  if (tSparse_)
    report.choice = "tSparse, as asked";
  report.ranges = rangeStarts().size() - 1;
  return report;
}

template <class V>
CsrOnCuda<V> PreparedProductOnCuda<V>::productByTSparse(std::size_t firstRow, std::size_t lastRow,
                                                        SpGemmReport& report)
{
  if constexpr (std::is_same_v<V, float>)
    return tSparse_->multiplyRows(
        a_, b_ ? *b_ : a_, firstRow, lastRow,
        {.withoutZeros = options_.dropTolerance.has_value(), .maxMemoryBytes = options_.maxMemoryBytes},
        &report);
  else
    throw std::logic_error("only single precision has half precision");
}

template <class V>
CsrOnCuda<V> PreparedProductOnCuda<V>::productOfRows(std::size_t firstRow, std::size_t lastRow)
{
  SpGemmReport report;
  CsrOnCuda<V> c = tSparse_ ? productByTSparse(firstRow, lastRow, report)
                            : spGemm_.multiplyRows(a_, b_ ? *b_ : a_, firstRow, lastRow, onCuda_, &report);
  report_.add(report);
  return c;
}

template <class V>
CsrMatrix<V> PreparedProductOnCuda<V>::multiply(std::size_t firstRow, std::size_t lastRow)
{
  RowEpilogueOnCuda<V> epilogue;
  const std::size_t count = lastRow - firstRow;
  if (options_.mask)
    epilogue.mask =
        PatternView{count, columns_, maskStart_.span().data() + firstRow, maskColumn_.span().data()};
  epilogue.complementMask = options_.complementMask;
  if (options_.half && !tSparse_) {
    epilogue.rowExponent = rowExponent_.span().data() + firstRow;
    epilogue.columnExponent = columnExponent_.span().data();
  }
  epilogue.scale = options_.scale;
  if (accumulate_) {
    epilogue.accumulate = accumulate_->view();
    epilogue.accumulate->rows = count;
    epilogue.accumulate->rowStart += firstRow;
  }
  epilogue.dropTolerance = options_.dropTolerance;
  return broughtToHost(context_,
                       epilogue.apply(context_, options_.semiring, productOfRows(firstRow, lastRow)));
}

template <class V>
CsrMatrix<V> PreparedProductOnCuda<V>::multiplyWithinMemory(std::size_t firstRow, std::size_t lastRow)
{
  const SpGemmReport before = report_;
  try {
    return multiply(firstRow, lastRow);
  } catch (const Error& error) {
    if (error.code() != ExitCode::outOfMemory)
      throw;
  }
  report_ = before;
  std::vector<std::size_t> starts{firstRow};
  for (const std::size_t start : rangeStarts())
    if (start > firstRow && start < lastRow)
      starts.push_back(start);
  starts.push_back(lastRow);
  std::vector<CsrMatrix<V>> ranges;
  for (std::size_t range = 0; range + 1 < starts.size(); ++range)
    ranges.push_back(multiply(starts[range], starts[range + 1]));
  report_.ranges = ranges.size();
  return joinedRanges(lastRow - firstRow, columns_, ranges);
}

template <class V>
std::vector<std::size_t> PreparedProductOnCuda<V>::rangeStarts()
{
  std::vector<std::size_t> starts =
      spGemm_.rangeStarts(a_, b_ ? *b_ : a_, options_.maxMemoryBytes, tSparse_ ? bytesATask : 0);
  if (starts.size() > 2)
    choose();
  return starts;
}

template <class V>
std::vector<std::size_t> PreparedProductOnCuda<V>::balancedStarts(std::size_t parts)
{
  return balancedRowStarts(context_, a_.view(), (b_ ? *b_ : a_).view(), parts);
}

template <class V>
void PreparedProductOnCuda<V>::choose()
{
  onCuda_ = spGemm_.choiceFor(a_, b_ ? *b_ : a_, onCuda_);
}

#define TESSERA_FOR_VALUE(V)                                                                                 \
  template class PreparedProductOnCuda<V>;                                                                   \
  template CsrMatrix<V> joinedRanges(std::size_t, std::size_t, const std::vector<CsrMatrix<V>>&);
TESSERA_FOR_VALUE(float)
TESSERA_FOR_VALUE(double)
TESSERA_FOR_VALUE(std::int64_t)
#undef TESSERA_FOR_VALUE

}
