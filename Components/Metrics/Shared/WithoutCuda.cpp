#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/Shared/BendingEnergyKernels.h"
#include "Components/Metrics/Shared/CorrespondingPointsKernels.h"
#include "Components/Metrics/Shared/HistogramOnCuda.h"
#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Compute/Error.h"

// In place of the .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& what = "(Metric) on CUDA")
{
  throw Error(ExitCode::device, what + ": this build has no CUDA. Allowed: (Device \"cpu\").");
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

#define TESSERA_WITHOUT_CUDA(D)                                                                              \
  template <>                                                                                                \
  void bendingEnergyOnCuda<D>(Context&, const SamplesOnCuda<D>&, const SampleChunk&, const ChainOnCuda<D>&,  \
                              const MaskOnCuda<D>&, BendingGradient, double*, double*, BendingSums<D>*)      \
  {                                                                                                          \
    fail("bending energy");                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  void pullBackBendingOnCuda<D>(Context&, const SampleChunk&, const ChainOnCuda<D>&, const double*,          \
                                const BendingSums<D>*, bool, bool, unsigned long long*, double*)             \
  {                                                                                                          \
    fail("bending energy");                                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  void pointDistancesOnCuda<D>(Context&, const SamplesOnCuda<D>&, const std::array<const double*, D>&,       \
                               const ChainOnCuda<D>&, const MaskOnCuda<D>&, const std::array<float*, D>&,    \
                               double*, DistanceSums<D>*)                                                    \
  {                                                                                                          \
    fail("distances of corresponding points");                                                               \
  }
TESSERA_WITHOUT_CUDA(2)
TESSERA_WITHOUT_CUDA(3)
#undef TESSERA_WITHOUT_CUDA

}
