#include "Components/Interpolators/Shared/SplineBatch.h"

#include "Components/Interpolators/Shared/LinearBatch.h"
#include "Components/Interpolators/Shared/SplineLoops.h"

namespace tessera {

template <int D>
void evaluateSpline(const SplineImage<D>& image, int order, const ListSamples<D>& points, float* values,
                    float* const* gradients, std::uint8_t* inside)
{
  if constexpr (D == 4)
    return evaluateOverTime(image, order, points, values, gradients, inside);
  const auto run = [&]<int Order>() {
    if constexpr (D < 4)
      evaluateWith<D, Order, float, float>(image, points, values, gradients, inside);
  };
  switch (order) {
  case 1:
    return LinearBatch<D, float>::evaluate(image, points, values, gradients, inside);
  case 2:
    return run.template operator()<2>();
  case 3:
    return run.template operator()<3>();
  case 4:
    return run.template operator()<4>();
  default:
    return run.template operator()<5>();
  }
}

template void evaluateSpline(const SplineImage<2>&, int, const ListSamples<2>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<3>&, int, const ListSamples<3>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<4>&, int, const ListSamples<4>&, float*, float* const*,
                             std::uint8_t*);

}
