#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Memory/HostCopies.h"

#include <algorithm>

namespace tessera {

void splineFieldToHost(const Context& context, const SplineFieldPlan& plan,
                       const SplineOfLandmarks<3>& spline, std::span<float> displacements)
{
  constexpr std::size_t slabBytes = std::size_t(256) << 20;
  const auto slices = static_cast<std::size_t>(plan.size[2]);
  const std::size_t perSlice = displacements.size() / slices,
                    atOnce = std::clamp<std::size_t>(slabBytes / (perSlice * sizeof(float)), 1, slices);
  Buffer<float> slab(context, perSlice * atOnce);
  for (std::size_t first = 0; first < slices; first += atOnce) {
    const std::size_t count = std::min(atOnce, slices - first);
    splineFieldOnCuda(context, plan, spline, first, count, slab.span().data());
    copyLargeToHost(context, displacements.data() + perSlice * first, slab.span().data(),
                    perSlice * count * sizeof(float));
  }
}

}
