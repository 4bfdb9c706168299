#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {

template <class V>
KnownProductOnCuda<V> SpGemmPlanOnCuda<V>::patternBy(const SpGemmOnCudaOptions& options, SpGemmReport& report)
{
  checkFactors(a_.rows, a_.columns, b_.rows, b_.columns);
  return spGemm_.patternOf(a_.view(), b_.view(), a_.entries == 0 || b_.entries == 0, options, false, report);
}

template <class V>
SpGemmPlanOnCuda<V>::SpGemmPlanOnCuda(const Context& context, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                      const SpGemmOnCudaOptions& options)
    : context_(context), a_(a), b_(b), options_(options), spGemm_(context),
      known_(patternBy(options, report_))
{
  spGemm_.computeNumbers(a.view(), b.view(), options.semiring, known_); // fills in the columns of C, too
  known_.c.value = {};
}

template <class V>
void SpGemmPlanOnCuda<V>::refillTiles(const CsrView<V>& a, const CsrView<V>& b)
{
  if constexpr (!std::is_same_v<V, std::int64_t>) { // int64 never uses tiles
    AnalysisTotals* const totals = known_.analysis.totals;
    context_.stream->fill(&totals->notFinite, 0, sizeof(std::uint32_t));
    refillTilesOnCuda(context_, b, *known_.tilesOfB, &totals->notFinite);
    if (known_.firstGroupOfA
        && a.value != b.value) { // A and B had the same values until now, so A had no tiles of its own
      known_.tilesOfA.emplace(context_, a.rows, static_cast<std::uint32_t>(known_.tilesOfB->column.size()));
      context_.stream->copyOnDevice(known_.tilesOfA->rowStart.span().data(),
                                    known_.tilesOfB->rowStart.span().data(),
                                    known_.tilesOfB->rowStart.size() * sizeof(std::uint32_t));
      known_.firstGroupOfA.reset();
    }
    if (!known_.firstGroupOfA)
      refillTilesOnCuda(context_, a, *known_.tilesOfA, &totals->notFinite);
  }
}

template <class V>
Buffer<V> SpGemmPlanOnCuda<V>::execute(const V* numbersOfA, const V* numbersOfB)
{
  CsrView<V> a = a_.view(), b = b_.view();
  a.value = numbersOfA;
  b.value = numbersOfB;
  if (known_.tileGroups > 0)
    refillTiles(a, b);
  spGemm_.computeNumbers(a, b, options_.semiring, known_);
  if (known_.tileGroups == 0 || spGemm_.numbersWereFinite(known_, options_))
    return std::move(known_.c.value);

  if (!byRows_) {
    SpGemmOnCudaOptions byRows = options_;
    byRows.algorithm = SpGemmAlgorithm::rows;
    SpGemmReport report;
    byRows_.emplace(patternBy(byRows, report));
  }
  spGemm_.computeNumbers(a, b, options_.semiring, *byRows_);
  return std::move(byRows_->c.value);
}

template class SpGemmPlanOnCuda<float>;
template class SpGemmPlanOnCuda<double>;
template class SpGemmPlanOnCuda<std::int64_t>;

}
