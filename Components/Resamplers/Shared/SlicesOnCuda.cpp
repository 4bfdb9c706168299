#include "Components/Resamplers/Shared/SlicesOnCuda.h"

namespace tessera {

template <int D>
SlicesOnCuda<D>::SlicesOnCuda(const MovingToResample<D>& moving, const TransformChain<D>& chain,
                              const ImageGeometry<D>& output)
    : moving_(moving)
{
  if (moving.inSlices)
    asked_.emplace(chain, moving.inSlices->geometry(), output);
}

template <int D>
std::size_t SlicesOnCuda<D>::outputSlices(std::size_t maxSlices) const
{
  if (asked_)
    while (maxSlices > 1 && asked_->maxAskedBy(maxSlices) > moving_.inSlices->maxSlices())
      --maxSlices;
  return maxSlices;
}

TESSERA_INSTANTIATE_CLASS(SlicesOnCuda);

}
