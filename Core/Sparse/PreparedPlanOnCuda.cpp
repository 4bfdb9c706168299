#include "Core/Sparse/PreparedPlanOnCuda.h"

#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

template <class T>
void bringToCuda(const Context& context, Buffer<T>& buffer, const Array<T>& numbers)
{
  if (buffer.size() < std::max<std::size_t>(numbers.size(), 1))
    buffer = Buffer<T>(context, std::max<std::size_t>(numbers.size(), 1)); // an allocation of 0 bytes fails
  if (!numbers.empty())
    context.stream->copyToDevice(buffer.span().data(), numbers.data(), numbers.size() * sizeof(T));
}

template <class V>
Array<V> numbersOnHost(const Context& context, const CsrOnCuda<V>& matrix)
{
  Array<V> numbers(matrix.entries);
  if (matrix.entries > 0)
    context.stream->copyToHost(numbers.data(), matrix.value.span().data(), matrix.entries * sizeof(V));
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

template <class V>
PreparedPlanOnCuda<V>::PreparedPlanOnCuda(const Context& context, const CsrMatrix<V>& a,
                                          const CsrMatrix<V>& b, const SpGemmOptions<V>& options)
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

template <class V>
CsrOnCuda<V> PreparedPlanOnCuda<V>::product(const Array<V>& a, const Array<V>& b)
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

template <class V>
Array<V> PreparedPlanOnCuda<V>::execute(const Array<V>& a, const Array<V>& b)
{
  return numbersOnHost(context_, product(a, b));
}

template class PreparedPlanOnCuda<float>;
template class PreparedPlanOnCuda<double>;
template class PreparedPlanOnCuda<std::int64_t>;

}
