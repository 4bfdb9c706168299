#include "Components/Resamplers/Shared/LayersOnCuda.h"

namespace tessera {

template <int D>
LayersOnCuda<D>::LayersOnCuda(const MovingToResample<D>& moving, const TransformChain<D>& chain,
                              const ImageGeometry<D>& output)
    : moving_(moving)
{
  if (moving.inLayers)
    asked_.emplace(chain, moving.inLayers->geometry(), output);
}

template <int D>
std::size_t LayersOnCuda<D>::outputLayers(std::size_t most) const
{
  if (asked_)
    while (most > 1 && asked_->mostAskedBy(most) > moving_.inLayers->mostLayers())
      --most;
  return most;
}

template <int D>
const MovingToResample<D>& LayersOnCuda<D>::broughtFor(Context& context, const LayerRange& ofOutput)
{
  if (!asked_)
    return moving_;
  const LayerRange asked = asked_->askedBy(ofOutput);
  moving_.image.coefficients = moving_.inLayers->bring(context, asked.first, asked.count);
  return moving_;
}

template class LayersOnCuda<2>;
template class LayersOnCuda<3>;

}
