#include "Components/ImageSamplers/MultiInputRandomCoordinateSampler.h"

namespace tessera {

template <int D>
const ComponentDescription& MultiInputRandomCoordinateSampler<D>::description()
{
  static const ComponentDescription description{
      "ImageSampler", "MultiInputRandomCoordinate",
      "RandomCoordinate in the region that all fixed images and their masks have in common",
      RandomCoordinateSampler<D>::description().parameters};
  return description;
}

TESSERA_INSTANTIATE_CLASS_TO_4(MultiInputRandomCoordinateSampler);

}
