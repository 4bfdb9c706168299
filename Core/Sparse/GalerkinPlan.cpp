#include "Core/Sparse/GalerkinPlan.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductWork.h"

namespace tessera {
namespace {

template <class V>
const CsrMatrix<V>& checked(const Context& context, const CsrMatrix<V>& matrix, const std::string& name)
{
  checkMatrix(context, matrix, name);
  return matrix;
}

std::string sizes(const MatrixPattern& matrix)
{
  return std::to_string(matrix.rows) + " x " + std::to_string(matrix.columns);
}

/// Whether R A takes fewer products than A P. Throws Error(usage) if the three do not fit together.
template <class V>
bool takesRFirst(const Context& context, const CsrMatrix<V>& r, const CsrMatrix<V>& a, const CsrMatrix<V>& p)
{
  if (r.columns != a.rows || a.columns != p.rows)
    throw Error(ExitCode::usage, "R A P: R is " + sizes(r) + ", A " + sizes(a) + " and P " + sizes(p)
                                     + ". Allowed: as many columns of R as rows of A, and of A as rows of P. "
                                       "R is the transpose of P if it is not given.");
  return productCount(context, checked(context, r, "R"), checked(context, a, "A"))
         < productCount(context, a, checked(context, p, "P"));
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
    : startsWithR_(takesRFirst(context, r, a, p)), ofR_(r.value), ofP_(p.value)
{
  SpGemmOptions<V> kept{
      .semiring = options.semiring, .algorithm = options.algorithm, .maxMemoryBytes = options.maxMemoryBytes};
  CsrMatrix<V> between;
  inner_.emplace(context, startsWithR_ ? r : a, startsWithR_ ? a : p, kept, &between);
  outer_.emplace(context, startsWithR_ ? between : r, startsWithR_ ? p : between, kept, &first_);
  using Factor = typename SpGemmPlan<V>::Factor;
  if (context.onCuda()) {
    ofInner_ = startsWithR_ ? inner_->bring(Factor::a, ofR_) : inner_->bring(Factor::b, ofP_);
    ofOuter_ = startsWithR_ ? outer_->bring(Factor::b, ofP_) : outer_->bring(Factor::a, ofR_);
  }
}

template <class V>
CsrMatrix<V> GalerkinPlan<V>::execute(const Array<V>& a)
{
  using Factor = typename SpGemmPlan<V>::Factor;
  if (ofInner_) {
    const Buffer<V> values = inner_->bring(startsWithR_ ? Factor::b : Factor::a, a);
    const Buffer<V> between =
        startsWithR_ ? inner_->executeThere(*ofInner_, values) : inner_->executeThere(values, *ofInner_);
    return outer_->bringBack(startsWithR_ ? outer_->executeThere(between, *ofOuter_)
                                          : outer_->executeThere(*ofOuter_, between));
  }
  const Array<V> between = (startsWithR_ ? inner_->execute(ofR_, a) : inner_->execute(a, ofP_)).value;
  return startsWithR_ ? outer_->execute(between, ofP_) : outer_->execute(ofR_, between);
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(GalerkinPlan);

}
