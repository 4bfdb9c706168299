#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Components/FieldInterpolators/TextureHardware.h"
#include "Components/FieldInterpolators/ThreadPerTile.h"
#include "Components/FieldInterpolators/ThreadPerTileLinear.h"
#include "Components/FieldInterpolators/ThreadPerVoxel.h"
#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"
#include "Core/Compute/Error.h"

// In place of their .cu files in a build without the CUDA toolkit, so that such a build knows and describes
// the same components.
namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& name)
{
  throw Error(ExitCode::device, "(FieldInterpolator \"" + name
                                    + "\"): this build has no CUDA. Allowed: one that runs on the CPU.");
}

}

#define TESSERA_WITHOUT_CUDA(Method)                                                                         \
  template <int D>                                                                                           \
  void Method<D>::displacements(Context&, const AlignedField<D>&, const FieldCoefficients&,                  \
                                const FieldTarget&) const                                                    \
  {                                                                                                          \
    fail(name());                                                                                            \
  }                                                                                                          \
  template void Method<2>::displacements(Context&, const AlignedField<2>&, const FieldCoefficients&,         \
                                         const FieldTarget&) const;                                          \
  template void Method<3>::displacements(Context&, const AlignedField<3>&, const FieldCoefficients&,         \
                                         const FieldTarget&) const

TESSERA_WITHOUT_CUDA(TextureHardware);
TESSERA_WITHOUT_CUDA(ThreadPerTile);
TESSERA_WITHOUT_CUDA(ThreadPerTileLinear);
TESSERA_WITHOUT_CUDA(ThreadPerVoxel);
TESSERA_WITHOUT_CUDA(ThreadPerVoxelTiled);

#define TESSERA_SEPARABLE_WITHOUT_CUDA(function)                                                             \
  template <int D>                                                                                           \
  void function(Context&, const AlignedField<D>&, const float*, const FieldTarget&)                          \
  {                                                                                                          \
    fail("Separable");                                                                                       \
  }                                                                                                          \
  template void function<2>(Context&, const AlignedField<2>&, const float*, const FieldTarget&);             \
  template void function<3>(Context&, const AlignedField<3>&, const float*, const FieldTarget&)

TESSERA_SEPARABLE_WITHOUT_CUDA(separableDisplacementsOnCuda);
TESSERA_SEPARABLE_WITHOUT_CUDA(separableJacobiansOnCuda);
TESSERA_SEPARABLE_WITHOUT_CUDA(separableJacobianDeterminantsOnCuda);

}
