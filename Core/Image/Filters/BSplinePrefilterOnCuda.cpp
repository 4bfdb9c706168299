#include "Core/Image/Filters/BSplinePrefilterOnCuda.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"

namespace tessera {
namespace {

constexpr std::size_t surelyOneBlock = 512; // voxels of a line that one block filters on any device

}

template <int D>
Buffer<float> bsplineCoefficientsOnCuda(Context& context, const float* voxels, const Size<D>& size, int order)
{
  const ExponentialFilter filter = splineFilter(order);
  const std::size_t count = productOf(size);
  Buffer<float> coefficients(context, count);
  float* const out = coefficients.span().data();
  const float* from = voxels;
  for (int axis = 0; axis < D; ++axis) {
    if (size[axis] < 2 || filter.empty())
      continue;
    if (!onlyCountsMemory(context))
      filterLinesOnCuda(context, filter, LineEnds::mirrored, LinesOnCuda::along(size, axis), from, out);
    else if (from == out && size[axis] > surelyOneBlock) // a copy, as blocks read what their neighbours write
      const Buffer<float> before(context, count);
    from = out;
  }
  if (from == voxels)
    context.stream->copyOnDevice(out, voxels, count * sizeof(float));
  return coefficients;
}

TESSERA_INSTANTIATE_FUNCTIONS(bsplineCoefficientsOnCuda<D>);

}
