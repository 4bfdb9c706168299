#include "Components/ImagePyramids/SmoothingImagePyramid.h"

#include "Core/Registration/GeometryInUse.h"

namespace tessera {

template <int D>
std::vector<FilterStep<D>> SmoothingImagePyramid<D>::stepsOfLevel(const ImageGeometry<D>& original,
                                                                  std::size_t level) const
{
  Vec<D> sigmaVoxels = scheduleOfLevel(level);
  bool smooths = false;
  for (double& sigma : sigmaVoxels) {
    sigma *= 0.5;
    smooths = smooths || sigma > 0;
  }
  if (!smooths)
    return {};
  return {FilterStep<D>::smoothing(original, sigmaVoxels, AxisOrder::ascending)};
}

template <int D>
const ComponentDescription& SmoothingImagePyramid<D>::description(ImageSide side)
{
  return descriptionOf(side, [](ImageSide s) {
    ComponentDescription described = factorPyramidDescription(
        s, "SmoothingImagePyramid",
        "Gaussian smoothing of sigma = factor / 2 voxels, size kept (Deriche 1993).");
    described.parameters.push_back(lastAxisIsTime());
    return described;
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(SmoothingImagePyramid);

}
