#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/Rows/RowSharesOnCuda.h"
#include "Core/Sparse/SpGemmPlanOnCuda.h"
#include "Core/Sparse/TSparse/TSparseProduct.h"

// In place of this folder's .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail()
{
  throw Error(ExitCode::device,
              "sparse products on CUDA: this build has no CUDA. Allowed: the device \"cpu\".");
}

}

struct SideStreams::State {};

SideStreams::SideStreams(const Context&)
{
  fail();
}
SideStreams::~SideStreams() = default;

TotalsOnHost::TotalsOnHost(const Context&) {}

SpGemmOnCuda::SpGemmOnCuda(const Context& context) : streams_(context), totalsOnHost_(context) {}

#define TESSERA_WITHOUT_CUDA(V)                                                                              \
  template <>                                                                                                \
  CsrOnCuda<V> SpGemmOnCuda::multiply(const CsrOnCuda<V>&, const CsrOnCuda<V>&, const SpGemmOnCudaOptions&,  \
                                      SpGemmReport*)                                                         \
  {                                                                                                          \
    fail();                                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  CsrOnCuda<V> SpGemmOnCuda::multiplyRows(const CsrOnCuda<V>&, const CsrOnCuda<V>&, std::size_t,             \
                                          std::size_t, const SpGemmOnCudaOptions&, SpGemmReport*)            \
  {                                                                                                          \
    fail();                                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  SpGemmReport SpGemmOnCuda::describe(const CsrOnCuda<V>&, const CsrOnCuda<V>&, const SpGemmOnCudaOptions&)  \
  {                                                                                                          \
    fail();                                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  SpGemmOnCudaOptions SpGemmOnCuda::choiceFor(const CsrOnCuda<V>&, const CsrOnCuda<V>&,                      \
                                              const SpGemmOnCudaOptions&)                                    \
  {                                                                                                          \
    fail();                                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  CsrOnCuda<V> RowEpilogueOnCuda<V>::apply(const Context&, Semiring, CsrOnCuda<V>) const                     \
  {                                                                                                          \
    fail();                                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  std::vector<std::size_t> SpGemmOnCuda::rangeStarts(const CsrOnCuda<V>&, const CsrOnCuda<V>&, std::size_t,  \
                                                     std::uint64_t)                                          \
  {                                                                                                          \
    fail();                                                                                                  \
  }
TESSERA_WITHOUT_CUDA(float)
TESSERA_WITHOUT_CUDA(double)
TESSERA_WITHOUT_CUDA(std::int64_t)
#undef TESSERA_WITHOUT_CUDA

TaskListMaker::TaskListMaker(const Context&) {}

TSparseProduct::TSparseProduct(const Context& context) : tasks_(context) {}
CsrOnCuda<float> TSparseProduct::multiply(const CsrOnCuda<float>&, const CsrOnCuda<float>&,
                                          const TSparseOptions&, SpGemmReport*)
{
  fail();
}
CsrOnCuda<float> TSparseProduct::multiplyRows(const CsrOnCuda<float>&, const CsrOnCuda<float>&, std::size_t,
                                              std::size_t, const TSparseOptions&, SpGemmReport*)
{
  fail();
}

void scanOnCuda(const Context&, std::size_t, const std::uint32_t*, std::uint64_t*)
{
  fail();
}
void scanOnCuda(const Context&, std::size_t, const std::uint32_t*, std::uint32_t*)
{
  fail();
}

std::vector<std::size_t> balancedRowStarts(const Context&, const PatternView&, const PatternView&,
                                           std::size_t)
{
  fail();
}

std::vector<std::size_t> balancedRowStarts(const Context&, const Buffer<std::uint64_t>&, std::size_t)
{
  fail();
}

template <class V>
SpGemmPlanOnCuda<V>::SpGemmPlanOnCuda(const Context& context, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                      const SpGemmOnCudaOptions& options)
    : context_(context), a_(a), b_(b), spGemm_(context), known_(patternBy(options, report_))
{
}
template <class V>
KnownProductOnCuda<V> SpGemmPlanOnCuda<V>::patternBy(const SpGemmOnCudaOptions&, SpGemmReport&)
{
  fail();
}
template <class V>
Buffer<V> SpGemmPlanOnCuda<V>::execute(const V*, const V*)
{
  fail();
}
template class SpGemmPlanOnCuda<float>;
template class SpGemmPlanOnCuda<double>;
template class SpGemmPlanOnCuda<std::int64_t>;

}
