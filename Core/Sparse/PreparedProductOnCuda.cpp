#include "Core/Sparse/PreparedProductOnCuda.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Core/Sparse/PreparedProduct.h"
#include "Core/Sparse/Rows/InnerProductsOnCuda.h"
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

/// Copies rows to their place in a matrix that has memory for all its entries.
template <class V>
void placeRange(const CsrMatrix<V>& range, CsrMatrix<V>& all, std::size_t firstRow, std::uint64_t firstEntry)
{
  for (std::size_t i = 0; i < range.rows; ++i)
    all.rowStart[firstRow + i + 1] = firstEntry + range.rowStart[i + 1];
  std::copy(range.column.begin(), range.column.end(), all.column.begin() + firstEntry);
  std::copy(range.value.begin(), range.value.end(), all.value.begin() + firstEntry);
}

}

template <class V>
PreparedOperands<V>::PreparedOperands(const Context& context, const CsrMatrix<V>& givenA,
                                      const CsrMatrix<V>& givenB, const SpGemmOptions<V>& options)
    : a(preparedOperand(context, givenA, options.transposeA, "A"))
{
  const bool same = givenA.isSame(givenB) && givenA.value.data() == givenB.value.data()
                    && options.transposeA == options.transposeB;
  if (!same)
    b = preparedOperand(context, givenB, options.transposeB, "B");
  checkOptionsOf(context, a.rows, (b ? *b : a).columns, options);
  if (options.algorithm == SpGemmAlgorithm::tsparse && !options.half)
    throw Error(ExitCode::usage, "A B: algorithm tsparse: it multiplies numbers of half precision. Allowed: "
                                 "half precision (f16), or another algorithm.");
  if constexpr (std::is_same_v<V, float>)
    if (options.half && options.algorithm != SpGemmAlgorithm::tsparse) {
      HalfScaled halfA = halfScaledRows(context, a), halfB = halfScaledColumns(context, b ? *b : a);
      a = std::move(halfA.matrix);
      b = std::move(halfB.matrix);
      rowExponent = std::move(halfA.exponent);
      columnExponent = std::move(halfB.exponent);
    }
}

template <class V>
std::uint64_t RowsOfProduct<V>::entries() const
{
  std::uint64_t sum = onCuda.entries;
  for (const CsrMatrix<V>& range : ranges)
    sum += range.entries();
  return sum;
}

template <class V>
PreparedProductOnCuda<V>::PreparedProductOnCuda(const Context& context, const CsrMatrix<V>& a,
                                                const CsrMatrix<V>& b, const SpGemmOptions<V>& options)
    : PreparedProductOnCuda(context, PreparedOperands<V>(context, a, b, options), options)
{
}

template <class V>
PreparedProductOnCuda<V>::PreparedProductOnCuda(const Context& context, const PreparedOperands<V>& operands,
                                                const SpGemmOptions<V>& options)
    : context_(context), options_(options), onCuda_{.semiring = options.semiring,
                                                    .algorithm = options.algorithm,
                                                    .maxMemoryBytes = options.maxMemoryBytes},
      spGemm_(context), rows_(operands.a.rows), columns_((operands.b ? *operands.b : operands.a).columns),
      a_(broughtToCuda(context, operands.a, "A")),
      b_(operands.b ? std::optional(broughtToCuda(context, *operands.b, "B")) : std::nullopt)
{
  if (options.algorithm == SpGemmAlgorithm::tsparse)
    tSparse_.emplace(context);
  if (options.half && !tSparse_) {
    const auto bring = [&](Buffer<std::int32_t>& to, const std::vector<std::int32_t>& exponents) {
      to.fromHost(context, exponents.empty() ? std::vector<std::int32_t>(1) : exponents);
    };
    bring(rowExponent_, operands.rowExponent);
    bring(columnExponent_, operands.columnExponent);
  }
  if (options.mask) {
    maskStart_.fromHost(context, options.mask->rowStart.span());
    maskColumn_.fromHost(context, firstOrOne(options.mask->column));
    chooseByMask(context, operands);
  }
  if (options.accumulate)
    accumulate_ = broughtToCuda(context, *options.accumulate, "D");
}

template <class V>
void PreparedProductOnCuda<V>::chooseByMask(const Context& context, const PreparedOperands<V>& operands)
{
  const CsrMatrix<V>&a = operands.a, &b = operands.b ? *operands.b : a;
  constexpr std::uint64_t bytesAnEntryOfB = 36, bytesAnEntryOfMask = sizeof(V) + 1;
  const std::uint64_t maskEntries = options_.mask->entries(), bytes = b.entries() * bytesAnEntryOfB
                                                                      + b.columns * sizeof(std::uint64_t)
                                                                      + maskEntries * bytesAnEntryOfMask;
  if (options_.complementMask || options_.algorithm != SpGemmAlgorithm::automatic || a.rows == 0
      || b.entries() >= ~0u || (options_.maxMemoryBytes > 0 && bytes > options_.maxMemoryBytes / 2))
    return;
  const double candidates = static_cast<double>(maskEntries) * static_cast<double>(a.entries())
                            / static_cast<double>(a.rows),
               products = productCount(context, a, b);
  if (candidates < products)
    productsByMask_ = static_cast<std::uint64_t>(products);
}

template <class V>
SpGemmReport PreparedProductOnCuda<V>::reportOfMasked(std::size_t firstRow, std::size_t lastRow) const
{
  SpGemmReport report;
  report.products = firstRow == 0 ? productsByMask_ : 0; // ranges add up
  report.groups = (lastRow - firstRow + tileSide - 1) / tileSide;
  report.entriesBound = options_.mask->rowStart[lastRow] - options_.mask->rowStart[firstRow];
  report.choice = "an inner product for each entry of the mask, which has few";
  return report;
}

template <class V>
CsrOnCuda<V> PreparedProductOnCuda<V>::maskedRows(std::size_t firstRow, std::size_t lastRow)
{
  const CsrOnCuda<V>& b = b_ ? *b_ : a_;
  CsrView<V> rows = a_.view();
  rows.rowStart += firstRow;
  rows.rows = lastRow - firstRow;
  const SpGemmReport report = reportOfMasked(firstRow, lastRow);
  report_.add(report);
  return innerProductsOnCuda(
      context_, options_.semiring, rows, b.view(), b.entries,
      PatternView{rows.rows, columns_, maskStart_.span().data() + firstRow, maskColumn_.span().data()},
      options_.mask->entries(), report.entriesBound);
}

template <class V>
SpGemmReport PreparedProductOnCuda<V>::describe()
{
  if (productsByMask_ > 0) {
    SpGemmReport report = reportOfMasked(0, rows_);
    report.ranges = rangeStarts().size() - 1;
    return report;
  }
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
CsrOnCuda<V> PreparedProductOnCuda<V>::onDevice(std::size_t firstRow, std::size_t lastRow)
{
  RowEpilogueOnCuda<V> epilogue;
  const std::size_t count = lastRow - firstRow;
  if (options_.mask && productsByMask_ == 0)
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
  return epilogue.apply(context_, options_.semiring,
                        productsByMask_ > 0 ? maskedRows(firstRow, lastRow)
                                            : productOfRows(firstRow, lastRow));
}

template <class V>
RowsOfProduct<V> PreparedProductOnCuda<V>::multiplyWithinMemory(std::size_t firstRow, std::size_t lastRow)
{
  const SpGemmReport before = report_;
  try {
    return {onDevice(firstRow, lastRow), {}};
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
  RowsOfProduct<V> made;
  for (std::size_t range = 0; range + 1 < starts.size(); ++range)
    made.ranges.push_back(multiply(starts[range], starts[range + 1]));
  report_.ranges = made.ranges.size();
  return made;
}

template <class V>
void PreparedProductOnCuda<V>::place(const RowsOfProduct<V>& made, CsrMatrix<V>& c, std::size_t firstRow,
                                     std::uint64_t firstEntry) const
{
  if (made.ranges.empty())
    placeOnHost(context_, made.onCuda, c, firstRow, firstEntry);
  for (const CsrMatrix<V>& range : made.ranges) {
    placeRange(range, c, firstRow, firstEntry);
    firstRow += range.rows;
    firstEntry += range.entries();
  }
}

template <class V>
std::vector<std::size_t> PreparedProductOnCuda<V>::balancedStarts(std::size_t parts)
{
  if (onCuda_.choice && onCuda_.choice->productsBefore.size() > 0)
    return balancedRowStarts(context_, onCuda_.choice->productsBefore, parts);
  return balancedRowStarts(context_, a_.view(), (b_ ? *b_ : a_).view(), parts);
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(PreparedOperands);
TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(RowsOfProduct);
TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(PreparedProductOnCuda);

}
