#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/Marks.h"
#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"

namespace tessera {

template <class V>
KnownProductOnCuda<V> SpGemmPlanOnCuda<V>::patternBy(const SpGemmOnCudaOptions& options, SpGemmReport& report)
{
  checkFactors(a_.rows, a_.columns, b_.rows, b_.columns);
  return spGemm_->patternOf(a_.view(), b_.view(), a_.entries == 0 || b_.entries == 0, options, false, report);
}

template <class V>
SpGemmPlanOnCuda<V>::SpGemmPlanOnCuda(const Context& context, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                      const SpGemmOnCudaOptions& options, Lists lists,
                                      const SpGemmPlanOnCuda* partner)
    : context_(context), a_(a), b_(b), options_(options),
      spGemm_(partner ? partner->spGemm_ : std::make_shared<SpGemmOnCuda>(context)), place_(partner ? 1 : 0),
      known_(patternBy(options, report_))
{
  spGemm_->computeNumbers(a.view(), b.view(), options.semiring, known_); // fills in the columns of C, too
  if (lists == Lists::whereTheyFit && shouldList()) {
    lists_.emplace(context, a.view(), b.view(), b.entries, known_.c.view(), known_.c.entries,
                   report_.products);
    known_.tileGroups = 0;
    known_.tilesOfA.reset();
    known_.tilesOfB.reset();
    known_.tilesOfC.reset();
    known_.c.value = start(a.value.span().data(), b.value.span().data());
  } else if (known_.tileGroups > 0) {
    spGemm_->askForTotals(known_.analysis, place_);
    context.stream->wait();
    if (!isGood())
      known_.c.value = byRows(a.view(), b.view());
  }
}

template <class V>
bool SpGemmPlanOnCuda<V>::shouldList() const
{
  // Products. Reading longer lists takes longer than multiplying by rows, or than multiplying by tiles.
  constexpr std::uint64_t mostBesideRows = 64 << 20, mostBesideTiles = 16 << 20;
  int multiprocessors = 0;
  checkCuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, context_.device.ordinal),
            "the number of multiprocessors");
  const bool fewUseTiles = 2 * report_.tileGroups < report_.groups
                           || report_.tileGroups < static_cast<std::uint64_t>(multiprocessors);
  const std::uint64_t bytes =
      report_.products * sizeof(EntryPair) + b_.entries * 36 + known_.c.entries * 2 * sizeof(std::uint32_t);
  constexpr std::uint64_t little = 128 << 20; // the question for free memory takes long
  const bool fits = options_.maxMemoryBytes > 0
                        ? report_.bytesTaken + bytes <= options_.maxMemoryBytes
                        : bytes <= little || bytes <= context_.stream->freeBytes() / 2;
  return report_.products > 0 && report_.products <= (fewUseTiles ? mostBesideRows : mostBesideTiles)
         && a_.entries < ~0u && b_.entries < ~0u && options_.algorithm == SpGemmAlgorithm::automatic && fits;
}

template <class V>
void SpGemmPlanOnCuda<V>::refillTiles(const CsrView<V>& a, const CsrView<V>& b, Other other)
{
  if constexpr (!std::is_same_v<V, std::int64_t>) { // int64 never uses tiles
    AnalysisTotals* const totals = known_.analysis.totals;
    context_.stream->fill(&totals->notFinite, 0, sizeof(std::uint32_t));
    if (other != Other::a)
      refillTilesOnCuda(context_, b, *known_.tilesOfB, &totals->notFinite);
    if (known_.firstGroupOfA
        && a.value != b.value) { // A and B had the same values until now, so A had no tiles of its own
      known_.tilesOfA.emplace(context_, a.rows, static_cast<std::uint32_t>(known_.tilesOfB->column.size()));
      context_.stream->copyOnDevice(known_.tilesOfA->rowStart.span().data(),
                                    known_.tilesOfB->rowStart.span().data(),
                                    known_.tilesOfB->rowStart.size() * sizeof(std::uint32_t));
      known_.firstGroupOfA.reset();
    }
    if (!known_.firstGroupOfA && other != Other::b)
      refillTilesOnCuda(context_, a, *known_.tilesOfA, &totals->notFinite);
  }
}

template <class V>
Buffer<V> SpGemmPlanOnCuda<V>::start(const V* numbersOfA, const V* numbersOfB, Other other)
{
  CsrView<V> a = a_.view(), b = b_.view();
  a.value = numbersOfA;
  b.value = numbersOfB;
  if (lists_) {
    Buffer<V> c(context_, std::max<std::uint64_t>(known_.c.entries, 1));
    std::uint32_t* const overflowed = &known_.analysis.totals->overflowed;
    context_.stream->fill(overflowed, 0, sizeof *overflowed);
    multiplyByListsOnCuda(context_, options_.semiring, *lists_, a.value, b.value, c.span().data(),
                          overflowed);
    if constexpr (std::is_same_v<V, std::int64_t>)
      checkOverflowOnCuda(context_, overflowed);
    return c;
  }
  if (known_.tileGroups > 0)
    refillTiles(a, b, other);
  markPart(context_, "tiles of values");
  spGemm_->computeNumbers(a, b, options_.semiring, known_);
  if (known_.tileGroups > 0)
    spGemm_->askForTotals(known_.analysis, place_);
  return std::move(known_.c.value);
}

template <class V>
bool SpGemmPlanOnCuda<V>::isGood() const
{
  return known_.tileGroups == 0 || spGemm_->numbersWereFinite(options_, place_);
}

template <class V>
Buffer<V> SpGemmPlanOnCuda<V>::byRows(const CsrView<V>& a, const CsrView<V>& b)
{
  if (!byRows_) {
    SpGemmOnCudaOptions byRows = options_;
    byRows.algorithm = SpGemmAlgorithm::rows;
    SpGemmReport report;
    byRows_.emplace(patternBy(byRows, report));
  }
  spGemm_->computeNumbers(a, b, options_.semiring, *byRows_);
  return std::move(byRows_->c.value);
}

template <class V>
Buffer<V> SpGemmPlanOnCuda<V>::execute(const V* numbersOfA, const V* numbersOfB)
{
  Buffer<V> c = start(numbersOfA, numbersOfB);
  if (known_.tileGroups == 0)
    return c;
  context_.stream->wait();
  if (isGood())
    return c;
  CsrView<V> a = a_.view(), b = b_.view();
  a.value = numbersOfA;
  b.value = numbersOfB;
  return byRows(a, b);
}

template class SpGemmPlanOnCuda<float>;
template class SpGemmPlanOnCuda<double>;
template class SpGemmPlanOnCuda<std::int64_t>;

}
