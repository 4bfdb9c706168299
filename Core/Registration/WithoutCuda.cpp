#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/SplineOnCuda.h"
#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Interpolation/InterpolatePointsOnCuda.h"
#include "Core/Registration/Samples/SampleKernels.h"

// In place of this folder's .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail(const char* what)
{
  throw Error(ExitCode::device, std::string(what) + ": this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

#define TESSERA_WITHOUT_CUDA(D)                                                                              \
  template <>                                                                                                \
  void interpolateOnCuda<D>(Context&, const InterpolatorOnCuda<D>&, const std::array<const double*, D>&,     \
                            std::size_t, float*, const std::array<float*, D>&, std::uint8_t*)                \
  {                                                                                                          \
    fail("interpolation");                                                                                   \
  }                                                                                                          \
  template <>                                                                                                \
  void maskLatticeOnCuda<D>(const Context&, const SamplesOnCuda<D>&, const MaskOnCuda<D>&, std::uint8_t*)    \
  {                                                                                                          \
    fail("mask of a lattice");                                                                               \
  }                                                                                                          \
  template <>                                                                                                \
  void gatherOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&, const MovingOnCuda<D>&,     \
                       const GatherTarget<D>&)                                                               \
  {                                                                                                          \
    fail("gathering samples");                                                                               \
  }                                                                                                          \
  template <>                                                                                                \
  void addDisplacementsOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,                   \
                                 const std::array<float*, D>&)                                               \
  {                                                                                                          \
    fail("gathering samples");                                                                               \
  }                                                                                                          \
  template <>                                                                                                \
  void warpLatticeOnCuda<D>(Context&, const SamplesOnCuda<D>&, const AffineMap<D>&,                          \
                            const std::array<const float*, D>&, const MovingOnCuda<D>&,                      \
                            const GatherTarget<D>&)                                                          \
  {                                                                                                          \
    fail("warping a lattice");                                                                               \
  }                                                                                                          \
  template <>                                                                                                \
  std::optional<AffineMap<D>> foldedLinear<D>(const ChainOnCuda<D>&)                                         \
  {                                                                                                          \
    fail("folding a chain");                                                                                 \
  }                                                                                                          \
  template <>                                                                                                \
  void momentsOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,                            \
                        const std::array<const float*, D>&, const float*, double*, CovectorMoments<D>*)      \
  {                                                                                                          \
    fail("moments of covectors");                                                                            \
  }                                                                                                          \
  template <>                                                                                                \
  void covectorsOnCuda<D>(Context&, const SamplesOnCuda<D>&, std::size_t, std::size_t,                       \
                          const ChainOnCuda<D>&, const std::array<const float*, D>&, const float*, double*,  \
                          double*)                                                                           \
  {                                                                                                          \
    fail("covectors of samples");                                                                            \
  }                                                                                                          \
  template <>                                                                                                \
  void splineVectorsOnCuda<D>(const Context&, const TransformOnCuda<D>&, const double*, double*)             \
  {                                                                                                          \
    fail("weights of a spline");                                                                             \
  }                                                                                                          \
  template <>                                                                                                \
  void sumSplineCovectorsOnCuda<D>(Context&, const TransformOnCuda<D>&, std::size_t, const double*,          \
                                   const double*, double*, double*, bool)                                    \
  {                                                                                                          \
    fail("sums over a spline's landmarks");                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  void sumSplineDerivativeCovectorsOnCuda<D>(Context&, const TransformOnCuda<D>&, std::size_t,               \
                                             const double*, const double*, bool, double*, double*, bool)     \
  {                                                                                                          \
    fail("sums over a spline's landmarks");                                                                  \
  }                                                                                                          \
  template <>                                                                                                \
  void splineGradientOnCuda<D>(Context&, const TransformOnCuda<D>&, const double*, double*,                  \
                               const GradientUpdate&)                                                        \
  {                                                                                                          \
    fail("gradient of a spline");                                                                            \
  }                                                                                                          \
  template <>                                                                                                \
  void pullBackBSplineOnCuda<D>(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,                    \
                                const std::array<const float*, D>&, const float*, unsigned long long*,       \
                                unsigned*, double*, const GradientUpdate&)                                   \
  {                                                                                                          \
    fail("pull-back of a B-spline");                                                                         \
  }                                                                                                          \
  template <>                                                                                                \
  void pullBackAlignedFieldOnCuda<D>(Context&, const AlignedField<D>&, const std::array<const float*, D>&,   \
                                     const float*, GradientSummation, double*, GradientBefore)               \
  {                                                                                                          \
    fail("adjoint of a field");                                                                              \
  }
TESSERA_WITHOUT_CUDA(2)
TESSERA_WITHOUT_CUDA(3)
#undef TESSERA_WITHOUT_CUDA

}
