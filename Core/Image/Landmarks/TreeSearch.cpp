#include "Core/Image/Landmarks/TreeSearch.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Landmarks/DisplacementSearchOnCuda.h"
#include "Core/Image/Landmarks/TreeRegularizationOnCuda.h"

namespace tessera {
namespace {

LeastCost refined(const LeastOfGrid& least, const DisplacementGrid& grid)
{
  const int n = grid.perAxis();
  LeastCost result{{}, {}, least.cost};
  int rest = least.number;
  for (int d = 0; d < 3; ++d) {
    const int place = rest % n;
    rest /= n;
    result.displacement[static_cast<std::size_t>(d)] = place * grid.step - grid.reach;
    if (place > 0 && place + 1 < n)
      refine(result, d, grid.step, least.before[d], least.after[d]);
  }
  return result;
}

}

template <int D>
std::vector<LeastCost> searchOnTree(const Context& context, const DescribedImage<D>& here,
                                    const DescribedImage<D>& there, std::span<const Voxel> keypoints,
                                    std::span<const Voxel> startsThere, const Tree& tree,
                                    const DisplacementGrid& grid, int patchRadius, float costWeight)
{
  const std::size_t count = grid.count(), all = keypoints.size() * count;
  std::vector<LeastCost> found;
  if (D == 3 && context.onCuda()
      && 2.0 * sizeof(float) * static_cast<double>(all) <= usableDeviceMemory(context)) {
    Buffer<float> costs(context, all), messages(context, all);
    Buffer<LeastOfGrid> least(context, keypoints.size());
    searchCostsOnCuda(context, here.onCuda(), there.onCuda(), keypoints, startsThere, grid, patchRadius,
                      costs.span().data());
    regularizeOnTreeByCuda(context, tree, grid, costWeight, costs.span().data(), messages.span().data());
    leastCostsOnCuda(context, costs.span().data(), keypoints.size(), grid, least.span().data());
    for (const LeastOfGrid& place : least.toHost(context))
      found.push_back(refined(place, grid));
    return found;
  }
  std::vector<float> costs = searchCosts(context, here, there, keypoints, startsThere, grid, patchRadius);
  for (float& cost : costs)
    cost *= costWeight;
  regularizeOnTree(context, tree, grid, costs);
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    found.push_back(leastCost(std::span(costs).subspan(i * count, count), grid));
  return found;
}

TESSERA_INSTANTIATE_FUNCTIONS(searchOnTree<D>);

}
