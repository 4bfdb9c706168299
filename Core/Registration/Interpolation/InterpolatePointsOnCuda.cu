#include "Core/Registration/Interpolation/InterpolatePointsOnCuda.h"

#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"

namespace tessera {
namespace {

constexpr unsigned threadsABlock = 128;

/// One thread a point. It loads 8 D bytes of the point and the (Order + 1)^D floats of its support, and
/// stores 4 bytes, 4 D of gradients, and 1 of `inside`.
template <int D, int Order, bool WithGradient, class Source>
__global__ void __launch_bounds__(threadsABlock)
    interpolatePoints(const Source source, const std::array<const double*, D> pointMm, std::size_t count,
                      float* __restrict__ values, const std::array<float*, D> gradientsPerMm,
                      std::uint8_t* __restrict__ inside)
{
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * threadsABlock + threadIdx.x;
  if (i >= count)
    return;
  Vec<D> point;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    point[d] = pointMm[d][i];
  float value, gradient[D];
  const bool isIn = valueAt<D, Order>(source, point, WithGradient, value, gradient);
  values[i] = value;
  if (WithGradient) {
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      gradientsPerMm[d][i] = gradient[d];
  }
  if (inside != nullptr)
    inside[i] = isIn ? 1 : 0;
}

}

template <int D, class Source>
void interpolateOnCuda(Context& context, const Source& source, const std::array<const double*, D>& pointMm,
                       std::size_t count, float* values, const std::array<float*, D>& gradientsPerMm,
                       std::uint8_t* inside)
{
  if (count == 0)
    return;
  const cudaStream_t stream = cudaStreamOf(context);
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(count, threadsABlock));
  withOrder(source.order, [&]<int Order>() {
    if (gradientsPerMm[0] != nullptr)
      interpolatePoints<D, Order, true>
          <<<blocks, threadsABlock, 0, stream>>>(source, pointMm, count, values, gradientsPerMm, inside);
    else
      interpolatePoints<D, Order, false>
          <<<blocks, threadsABlock, 0, stream>>>(source, pointMm, count, values, gradientsPerMm, inside);
    checkLaunch("interpolateOnCuda");
  });
}

// Series are images of two or three dimensions over time.
TESSERA_INSTANTIATE_FUNCTIONS(interpolateOnCuda<D, InterpolatorOnCuda<D>>,
                              interpolateOnCuda<D + 1, SlicedSeriesOnCuda<D + 1>>);

}
