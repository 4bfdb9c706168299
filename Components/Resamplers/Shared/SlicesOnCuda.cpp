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

template <int D>
const MovingToResample<D>& SlicesOnCuda<D>::preparedFor(Context& context, const SliceRange& ofOutput)
{
  if (!asked_)
    return moving_;
  const SliceRange asked = asked_->askedBy(ofOutput);
  moving_.image.coefficients = moving_.inSlices->moveTo(context, asked.first, asked.count);
  return moving_;
}

TESSERA_INSTANTIATE_CLASS(SlicesOnCuda);

}
