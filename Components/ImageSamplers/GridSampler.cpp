#include "Components/ImageSamplers/GridSampler.h"

namespace tessera {
namespace {

const Parameter<std::int64_t> sampleGridSpacing =
    integerParameter("SampleGridSpacing", 2, 1, Arity::perLevelAndDimension, "voxels",
                     "step of the grid; missing entries are 2, as in elastix");

}

template <int D>
GridSampler<D>::GridSampler(const Parameters& parameters) : steps_(parameters.levelCount())
{
  for (std::size_t level = 0; level < steps_.size(); ++level)
    for (int d = 0; d < D; ++d)
      steps_[level][d] = static_cast<std::size_t>(
          parameters.find(sampleGridSpacing, level * D + d).value_or(sampleGridSpacing.defaultValue));
}

template <int D>
const ComponentDescription& GridSampler<D>::description()
{
  static const ComponentDescription description{"ImageSampler",
                                                "Grid",
                                                "voxels of the fixed image at regular steps, inside the mask",
                                                {sampleGridSpacing}};
  return description;
}

TESSERA_INSTANTIATE_CLASS_TO_4(GridSampler);

}
