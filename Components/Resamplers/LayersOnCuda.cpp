#include "Components/Resamplers/LayersOnCuda.h"

#include "Core/Compute/HostCopies.h"

#include <algorithm>
#include <cstdint>

namespace tessera {

template <int D>
LayersOnCuda<D>::LayersOnCuda(const MovingToResample<D>& moving, const TransformChain<D>& chain, const ImageGeometry<D>& output)
    : moving_(moving)
{
  if (moving.inLayers.image)
    asked_.emplace(chain, moving.inLayers.image->geometry, output);
}

template <int D>
std::size_t LayersOnCuda<D>::outputLayers(std::size_t most) const
{
  if (asked_)
    while (most > 1 && asked_->mostAskedBy(most) > moving_.inLayers.atOnce)
      --most;
  return most;
}

template <int D>
const MovingToResample<D>& LayersOnCuda<D>::broughtFor(Context& context, const LayerRange& ofOutput)
{
  if (!asked_)
    return moving_;
  const LayerRange asked = asked_->askedBy(ofOutput);
  const std::size_t askedEnd = asked.first + asked.count;
  if (asked.first >= there_.first && askedEnd <= there_.first + there_.count)
    return moving_;
  const Image<D>& image = *moving_.inLayers.image;
  const std::size_t all = image.geometry.size[D - 1], ofLayer = image.voxels.size() / all,
                    count = std::min(moving_.inLayers.atOnce, all);
  // what is there lies behind, or this is the first: the next ones may ask for what follows; else for what lies before
  const bool upwards = asked.first >= there_.first;
  there_ = {upwards ? std::min(asked.first, all - count) : askedEnd - std::min(askedEnd, count), count};
  float* const voxels = grown(context, voxels_, count * ofLayer);
  copyLargeToDevice(context, voxels, image.voxels.data() + there_.first * ofLayer, count * ofLayer * sizeof(float));
  // where the first voxel of the image would lie; kernels read none but those that are there
  moving_.image.coefficients =
      reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels) - there_.first * ofLayer * sizeof(float));
  return moving_;
}

template class LayersOnCuda<2>;
template class LayersOnCuda<3>;

}
