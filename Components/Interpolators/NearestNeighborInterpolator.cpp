#include "Components/Interpolators/NearestNeighborInterpolator.h"

namespace tessera {

template <int D>
void NearestNeighborInterpolator<D>::prepareForLevel(Context& context, const ImagePointer<D>& image,
                                                     std::size_t)
{
  image_ = image;
  readInPlace(image->voxels.data(), image->geometry);
  voxelsOnCuda_ = context.onCuda() ? voxelsOnCuda<D>(context, image) : nullptr;
  onCuda_ = {voxelsOnCuda_ ? voxelsOnCuda_->span().data() : nullptr, image->geometry, 0};
  onCuda_.nearestInDouble = true;
}

template <int D>
const ComponentDescription& NearestNeighborInterpolator<D>::description(InterpolatorUse use)
{
  const char* const summary = "The nearest voxel; gradient by central differences there.";
  static const ComponentDescription matching{"Interpolator", "NearestNeighborInterpolator", summary};
  static const ComponentDescription resampling{"ResampleInterpolator",
                                               "NearestNeighborInterpolator",
                                               summary,
                                               {},
                                               {"FinalNearestNeighborInterpolator"}};
  return use == InterpolatorUse::matching ? matching : resampling;
}

TESSERA_INSTANTIATE_CLASS_TO_4(NearestNeighborInterpolator);

}
