#include "Components/Interpolators/Shared/SplineOverTime.h"

#include "Components/Interpolators/Shared/SplineLoops.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {

template <int D>
void evaluateSpline(const SplineImage<D, double>& image, int order, const ListSamples<D>& points,
                    float* values, float* const* gradients, std::uint8_t* inside)
{
  if constexpr (D == 4)
    evaluateOverTime(image, order, points, values, gradients, inside);
  else
    withConstant<2, 5>(order, [&]<int Order>() {
      evaluateWith<D, Order, double, double>(image, points, values, gradients, inside);
    });
}

template <int D>
bool evaluateSplineRow(const SplineImage<D, double>& image, int order, const IndexRow<D>& row, float* values,
                       RowSpan& inside)
{
  if (D == 4 || !insideOfRow<D>(row, image.size, inside))
    return false;
  withConstant<2, 5>(order, [&]<int Order>() {
    if constexpr (D < 4)
      SplineBatch<D, Order, double, double>::row(image, row, inside.begin, inside.end, values);
  });
  return true;
}

template void evaluateSpline(const SplineImage<2, double>&, int, const ListSamples<2>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<3, double>&, int, const ListSamples<3>&, float*, float* const*,
                             std::uint8_t*);
template void evaluateSpline(const SplineImage<4, double>&, int, const ListSamples<4>&, float*, float* const*,
                             std::uint8_t*);
template bool evaluateSplineRow(const SplineImage<2, double>&, int, const IndexRow<2>&, float*, RowSpan&);
template bool evaluateSplineRow(const SplineImage<3, double>&, int, const IndexRow<3>&, float*, RowSpan&);
template bool evaluateSplineRow(const SplineImage<4, double>&, int, const IndexRow<4>&, float*, RowSpan&);

}
