#include "Core/Sparse/GalerkinPlan.h"

#include "Core/Sparse/Analysis/ProductWork.h"

namespace tessera {
namespace {

template <class V>
const CsrMatrix<V>& checked(const Context& context, const CsrMatrix<V>& matrix, const std::string& name)
{
  checkMatrix(context, matrix, name);
  return matrix;
}

}

template <class V>
GalerkinPlan<V>::GalerkinPlan(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& p,
                              const SpGemmOptions<V>& options)
    : GalerkinPlan(context, transposed(context, checked(context, p, "P")), a, p, options)
{
}

template <class V>
GalerkinPlan<V>::GalerkinPlan(const Context& context, const CsrMatrix<V>& r, const CsrMatrix<V>& a,
                              const CsrMatrix<V>& p, const SpGemmOptions<V>& options)
    : startsWithR_(productCount(context, checked(context, r, "R"), checked(context, a, "A"))
                   < productCount(context, a, checked(context, p, "P"))),
      ofR_(r.value), ofP_(p.value)
{
  SpGemmOptions<V> kept;
  kept.semiring = options.semiring;
  kept.algorithm = options.algorithm;
  kept.maxMemoryBytes = options.maxMemoryBytes;
  CsrMatrix<V> between;
  inner_.emplace(context, startsWithR_ ? r : a, startsWithR_ ? a : p, kept, &between);
  outer_.emplace(context, startsWithR_ ? between : r, startsWithR_ ? p : between, kept, &first_);
}

template <class V>
CsrMatrix<V> GalerkinPlan<V>::execute(const Array<V>& a)
{
  const Array<V> between = (startsWithR_ ? inner_->execute(ofR_, a) : inner_->execute(a, ofP_)).value;
  return startsWithR_ ? outer_->execute(between, ofP_) : outer_->execute(ofR_, between);
}

template class GalerkinPlan<double>;
template class GalerkinPlan<float>;
template class GalerkinPlan<std::int64_t>;

}
