#include "Core/Sparse/SpGemm.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Sparse/PreparedProduct.h"
#include "Core/Sparse/PreparedProductOnCuda.h"
#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include <algorithm>
#include <optional>

namespace tessera {
namespace {

template <class T>
void bringToCuda(const Context& context, Buffer<T>& buffer, const Array<T>& numbers)
{
  if (buffer.size() < std::max<std::size_t>(numbers.size(), 1))
    buffer = Buffer<T>(context, std::max<std::size_t>(numbers.size(), 1)); // an allocation of 0 bytes fails
  if (!numbers.empty())
    copyLargeToDevice(context, buffer.span().data(), numbers.data(), numbers.size() * sizeof(T));
}

template <class V>
Array<V> numbersOnHost(const Context& context, const Buffer<V>& values, std::uint64_t entries)
{
  Array<V> numbers(entries);
  if (entries > 0)
    copyLargeToHost(context, numbers.data(), values.span().data(), entries * sizeof(V));
  return numbers;
}

/// A matrix with a copy of the pattern and without values.
template <class V>
CsrOnCuda<V> copyOfPattern(const Context& context, const CsrOnCuda<V>& matrix)
{
  CsrOnCuda<V> copy;
  copy.rows = matrix.rows;
  copy.columns = matrix.columns;
  copy.entries = matrix.entries;
  const auto copied = [&]<class T>(const Buffer<T>& from) {
    Buffer<T> to(context, from.size());
    context.stream->copyOnDevice(to.span().data(), from.span().data(), from.size() * sizeof(T));
    return to;
  };
  copy.rowStart = copied(matrix.rowStart);
  copy.column = copied(matrix.column);
  return copy;
}

}

/// The CUDA part of SpGemmPlan: a plan for matrices in host memory that multiplies on a CUDA device.
template <class V>
class PreparedPlanOnCuda {
public:
  /// A and B come from preparedOperand(). Throws as SpGemm.h says.
  PreparedPlanOnCuda(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                     const SpGemmOptions<V>& options)
      : context_(context), options_(options), a_(broughtToCuda(context, a, "A")),
        b_(a.isSame(b) ? std::nullopt : std::optional(broughtToCuda(context, b, "B"))),
        plan_(context, a_, b_ ? *b_ : a_,
              {.semiring = options.semiring,
               .algorithm = options.algorithm,
               .maxMemoryBytes = options.maxMemoryBytes})
  {
    checkOptionsOf(context, a.rows, b.columns, options);
    if (options.mask) {
      bringToCuda(context, maskStart_, options.mask->rowStart);
      bringToCuda(context, maskColumn_, options.mask->column);
    }
  }

  /// C with its pattern, in host memory, for other values of A and B. The values are in the order of the
  /// prepared operands.
  CsrMatrix<V> multiply(const Array<V>& a, const Array<V>& b)
  {
    return broughtToHost(context_, product(a, b));
  }
  /// The values of C alone.
  Array<V> execute(const Array<V>& a, const Array<V>& b)
  {
    const CsrOnCuda<V> c = product(a, b);
    return numbersOnHost(context_, c.value, c.entries);
  }

private:
  CsrOnCuda<V> product(const Array<V>& a, const Array<V>& b)
  {
    bringToCuda(context_, a_.value, a);
    const bool same = a.data() == b.data() && !b_;
    if (!same)
      bringToCuda(context_, numbersOfB_, b);
    const V* const valuesOfA = a_.value.span().data();
    CsrOnCuda<V> c = copyOfPattern(context_, plan_.pattern());
    c.value = plan_.execute(valuesOfA, same ? valuesOfA : numbersOfB_.span().data());
    RowEpilogueOnCuda<V> epilogue;
    if (options_.mask)
      epilogue.mask = PatternView{c.rows, c.columns, maskStart_.span().data(), maskColumn_.span().data()};
    epilogue.complementMask = options_.complementMask;
    epilogue.scale = options_.scale;
    return epilogue.apply(context_, options_.semiring, std::move(c));
  }

  Context context_;
  SpGemmOptions<V> options_;
  CsrOnCuda<V> a_;
  std::optional<CsrOnCuda<V>> b_; // empty if B has the pattern of A
  // The values of B, if they differ from those of A.
  Buffer<V> numbersOfB_;
  Buffer<std::uint64_t> maskStart_;
  Buffer<std::uint32_t> maskColumn_;
  SpGemmPlanOnCuda<V> plan_;
};

template <class V>
CsrMatrix<V> multiply(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options, SpGemmReport* report)
{
  if (context.onCuda()) {
    PreparedProductOnCuda<V> product(context, a, b, options);
    const RowsOfProduct<V> made = product.multiplyWithinMemory(0, product.rows());
    CsrMatrix<V> c = memoryOnHost<V>(product.rows(), product.columns(), made.entries());
    product.place(made, c, 0, 0);
    if (report)
      *report = product.report();
    return c;
  }
  PreparedProduct<V> product(context, a, b, options);
  CsrMatrix<V> c = product.multiply(0, product.groups());
  if (report)
    *report = product.report();
  return c;
}

template <class V>
void multiplyInRanges(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options,
                      const std::function<void(std::size_t, CsrMatrix<V>&&)>& consume, SpGemmReport* report)
{
  if (context.onCuda()) {
    PreparedProductOnCuda<V> product(context, a, b, options);
    const std::vector<std::size_t> starts = product.rangeStarts();
    for (std::size_t range = 0; range + 1 < starts.size(); ++range)
      consume(starts[range], product.multiply(starts[range], starts[range + 1]));
    if (report) {
      *report = product.report();
      report->ranges = starts.size() - 1;
    }
    return;
  }
  PreparedProduct<V> product(context, a, b, options);
  const std::vector<std::size_t> starts = product.rangeStarts();
  if (report) {
    *report = product.report();
    report->ranges = starts.size() - 1;
  }
  for (std::size_t range = 0; range + 1 < starts.size(); ++range)
    consume(starts[range] * tileSide, product.multiply(starts[range], starts[range + 1]));
}

template <class V>
SpGemmReport describeProduct(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                             const SpGemmOptions<V>& options)
{
  if (context.onCuda())
    return PreparedProductOnCuda<V>(context, a, b, options).describe();
  const PreparedProduct<V> product(context, a, b, options);
  SpGemmReport report = product.report();
  report.ranges = product.rangeStarts().size() - 1;
  return report;
}

template <class V>
SpGemmPlan<V>::SpGemmPlan(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                          const SpGemmOptions<V>& options, CsrMatrix<V>* first)
{
  if (options.accumulate || options.dropTolerance || options.half)
    throw Error(ExitCode::usage, "plan of A B: D, tolerance or half precision: their patterns depend on "
                                 "numbers. Allowed: semiring, algorithm, transposition, mask and scale.");
  orderOfA_ = preparedOrder(context, a, options.transposeA, "A");
  orderOfB_ = preparedOrder(context, b, options.transposeB, "B");
  if (context.onCuda()) {
    const CsrMatrix<V> preparedA = preparedOperand(context, a, options.transposeA, "A");
    const bool same = a.isSame(b) && options.transposeA == options.transposeB;
    CsrMatrix<V> preparedB = same ? preparedA : preparedOperand(context, b, options.transposeB, "B");
    preparedB.value = inOrder(b.value, orderOfB_);
    entriesOfA_ = preparedA.value.size();
    entriesOfB_ = preparedB.value.size();
    onCuda_ = std::make_unique<PreparedPlanOnCuda<V>>(context, preparedA, preparedB, options);
    takeFirst(onCuda_->multiply(preparedA.value, preparedB.value), first);
    return;
  }
  product_ = std::make_unique<PreparedProduct<V>>(context, a, b, options);
  entriesOfA_ = product_->entriesOfA();
  entriesOfB_ = product_->entriesOfB();
  takeFirst(product_->multiply(0, product_->groups()), first);
}

template <class V>
void SpGemmPlan<V>::takeFirst(CsrMatrix<V> c, CsrMatrix<V>* first)
{
  c_ = c;
  if (first)
    *first = std::move(c);
}

template <class V>
SpGemmPlan<V>::~SpGemmPlan() = default;
template <class V>
SpGemmPlan<V>::SpGemmPlan(SpGemmPlan&&) noexcept = default;
template <class V>
SpGemmPlan<V>& SpGemmPlan<V>::operator=(SpGemmPlan&&) noexcept = default;

template <class V>
CsrMatrix<V> SpGemmPlan<V>::execute(const Array<V>& a, const Array<V>& b)
{
  checkNumbers("plan of A B: A", a, entriesOfA_);
  checkNumbers("plan of A B: B", b, entriesOfB_);
  CsrMatrix<V> c;
  static_cast<MatrixPattern&>(c) = c_;
  const bool same = a.data() == b.data() && orderOfA_ == orderOfB_;
  const Array<V> valuesOfA = inOrder(a, orderOfA_), valuesOfB = same ? valuesOfA : inOrder(b, orderOfB_);
  if (onCuda_) {
    c.value = onCuda_->execute(valuesOfA, valuesOfB);
    return c;
  }
  product_->replaceNumbers(valuesOfA, valuesOfB);
  c.value = product_->valuesFor(c_);
  return c;
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(SpGemmPlan);
TESSERA_INSTANTIATE_FOR_NUMBERS(multiply<V>, multiplyInRanges<V>, describeProduct<V>);

}
