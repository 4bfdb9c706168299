#include "Core/Sparse/GalerkinPlanOnCuda.h"

#include "Core/Compute/Cuda/Marks.h"
#include "Core/Sparse/Numbers/NumberChecksOnCuda.h"

namespace tessera {

template <class V>
GalerkinPlanOnCuda<V>::GalerkinPlanOnCuda(const Context& context, const CsrOnCuda<V>& r,
                                          const CsrOnCuda<V>& a, const CsrOnCuda<V>& p, bool startsWithR,
                                          const SpGemmOnCudaOptions& options)
    : r_(r), p_(p), context_(context), startsWithR_(startsWithR)
{
  constexpr auto lists = SpGemmPlanOnCuda<V>::Lists::whereTheyFit;
  inner_.emplace(context, startsWithR ? r : a, startsWithR ? a : p, options, lists);
  outer_.emplace(context, startsWithR ? inner_->first() : r, startsWithR ? p : inner_->first(), options,
                 lists, &*inner_);
  if constexpr (!std::is_same_v<V, std::int64_t>) {
    Buffer<std::uint32_t> notFinite(context, 1);
    context.stream->fill(notFinite.span().data(), 0, sizeof(std::uint32_t));
    for (const CsrOnCuda<V>* factor : {&r, &p})
      findNotFiniteOnCuda(context, factor->value.span().data(), factor->entries, notFinite.span().data());
    factorsAreFinite_ = notFinite.toHost(context)[0] == 0;
  }
}

template <class V>
Buffer<V> GalerkinPlanOnCuda<V>::execute(const V* a)
{
  using Other = typename SpGemmPlanOnCuda<V>::Other;
  const V *const r = r_.value.span().data(), *const p = p_.value.span().data();
  // Tiles of R and P are filled once. If they are not finite, each execution must find out again.
  const auto other = [&](Other one) { return factorsAreFinite_ ? one : Other::both; };
  markPart(context_, nullptr);
  const Buffer<V> between =
      startsWithR_ ? inner_->start(r, a, other(Other::b)) : inner_->start(a, p, other(Other::a));
  markPart(context_, "first product");
  const V* const ofBetween = between.span().data();
  Buffer<V> c = startsWithR_ ? outer_->start(ofBetween, p, other(Other::a))
                             : outer_->start(r, ofBetween, other(Other::b));
  markPart(context_, "second product");
  if (inner_->needsWait() || outer_->needsWait())
    context_.stream->wait();
  if (inner_->isGood() && outer_->isGood())
    return c;
  const Buffer<V> again = startsWithR_ ? inner_->execute(r, a) : inner_->execute(a, p);
  return startsWithR_ ? outer_->execute(again.span().data(), p) : outer_->execute(r, again.span().data());
}

template class GalerkinPlanOnCuda<float>;
template class GalerkinPlanOnCuda<double>;
template class GalerkinPlanOnCuda<std::int64_t>;

}
