#include "Components/Interpolators/Shared/SplineBatch.h"

#include "Components/Interpolators/Shared/LinearBatch.h"
#include "Components/Interpolators/Shared/SplineLoops.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {

template <int D>
void evaluateSpline(const SplineImage<D>& image, int order, const ListSamples<D>& points, float* values,
                    float* const* gradients, std::uint8_t* inside)
{
  if constexpr (D == 4)
    return evaluateOverTime(image, order, points, values, gradients, inside);
  if (order == 1)
    return LinearBatch<D, float>::evaluate(image, points, values, gradients, inside);
  withConstant<2, 5>(order, [&]<int Order>() {
    if constexpr (D < 4)
      evaluateWith<D, Order, float, float>(image, points, values, gradients, inside);
  });
}

template void evaluateSpline(const SplineImage<2>&, int, const ListSamples<2>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<3>&, int, const ListSamples<3>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<4>&, int, const ListSamples<4>&, float*, float* const*,
                             std::uint8_t*);

}
