#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/HistogramOnCuda.h"
#include "Components/Metrics/SumsOnCuda.h"
#include "Core/Compute/Error.h"

// In place of the .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail()
{
  throw Error(ExitCode::device, "(Metric) on CUDA: this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

std::unique_ptr<MetricOnCuda> histogramOnCuda(const Context&, const ParzenWindows&, EntropyKind)
{
  fail();
}

template <class Formula>
std::unique_ptr<MetricOnCuda> sumsOnCuda(const Context&, const Formula&)
{
  fail();
}

template std::unique_ptr<MetricOnCuda> sumsOnCuda(const Context&, const AdvancedMeanSquares&);
template std::unique_ptr<MetricOnCuda> sumsOnCuda(const Context&, const AdvancedNormalizedCorrelation&);

}
