#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Core/Compute/Error.h"

// In place of the .cu files in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail()
{
  throw Error(ExitCode::device, "resampling on CUDA: this build has no CUDA. Allowed: the device \"cpu\".");
}

}

template <int D>
void resampleLinearly(Context&, const LatticeToResample<D>&, const IndexMap<D>&, const RunShape&)
{
  fail();
}

template <int D>
void resampleByTiles(Context&, const LatticeToResample<D>&, const IndexMap<D>&, const SplineToResample<D>&,
                     const RunShape&)
{
  fail();
}

template <int D>
void resampleBySpline(Context&, const LatticeToResample<D>&, const IndexMap<D>&, const SplineToResample<D>&,
                      const RunShape&)
{
  fail();
}

template <int D>
void resampleUnsureVoxels(Context&, const LatticeToResample<D>&)
{
  fail();
}

template <int D>
void resampleByPoints(Context&, const LatticeToResample<D>&)
{
  fail();
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void resampleLinearly<D>(Context&, const LatticeToResample<D>&, const IndexMap<D>&,               \
                                    const RunShape&);                                                        \
  template void resampleByTiles<D>(Context&, const LatticeToResample<D>&, const IndexMap<D>&,                \
                                   const SplineToResample<D>&, const RunShape&);                             \
  template void resampleBySpline<D>(Context&, const LatticeToResample<D>&, const IndexMap<D>&,               \
                                    const SplineToResample<D>&, const RunShape&);                            \
  template void resampleUnsureVoxels<D>(Context&, const LatticeToResample<D>&);                              \
  template void resampleByPoints<D>(Context&, const LatticeToResample<D>&)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
#undef TESSERA_INSTANTIATE

}
