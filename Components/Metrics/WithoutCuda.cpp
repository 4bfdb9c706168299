#include "Components/Metrics/BendingEnergyKernels.h"
#include "Components/Metrics/CorrespondingPointsKernels.h"
#include "Core/Compute/Error.h"

// In place of this folder's .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail(const char* what)
{
  throw Error(ExitCode::device, std::string(what) + ": this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

#define TESSERA_WITHOUT_CUDA(D)                                                                                                    \
  template <>                                                                                                                      \
  void bendingEnergyOnCuda<D>(Context&, const SamplesOnCuda<D>&, const SampleChunk&, const ChainOnCuda<D>&, const MaskOnCuda<D>&,  \
                              BendingGradient, double*, double*, BendingSums<D>*)                                                  \
  {                                                                                                                                \
    fail("bending energy");                                                                                                        \
  }                                                                                                                                \
  template <>                                                                                                                      \
  void pullBackBendingOnCuda<D>(Context&, const SampleChunk&, const ChainOnCuda<D>&, const double*, const BendingSums<D>*, bool,   \
                                bool, unsigned long long*, double*)                                                                \
  {                                                                                                                                \
    fail("bending energy");                                                                                                        \
  }                                                                                                                                \
  template <>                                                                                                                      \
  void pointDistancesOnCuda<D>(Context&, const SamplesOnCuda<D>&, const std::array<const double*, D>&, const ChainOnCuda<D>&,      \
                               const MaskOnCuda<D>&, const std::array<float*, D>&, double*, DistanceSums<D>*)                      \
  {                                                                                                                                \
    fail("distances of corresponding points");                                                                                     \
  }
TESSERA_WITHOUT_CUDA(2)
TESSERA_WITHOUT_CUDA(3)
#undef TESSERA_WITHOUT_CUDA

}
