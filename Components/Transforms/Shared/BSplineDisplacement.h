#pragma once

#include "Components/Transforms/Shared/BSplineSupport.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// What every kernel needs of a field.
template <int D>
struct FieldView {
  SupportFinder<D> finder;
  std::ptrdiff_t points;
  int components;
};

/// Weights along the middle axis; there is none in 2D.
template <int D, int Order>
TESSERA_ALWAYS_INLINE void middleWeights(const Support<D, Order>& support, double* w)
{
  w[0] = 1;
  if constexpr (D == 3)
    bsplineWeights<Order, double>(support.distance[1], w);
}

/// The displacements of batches of points.
template <int D, int Order>
class DisplaceBatch {
public:
  /// As BSplineField::displace.
  static void run(const FieldView<D>&, const ListSamples<D>&, const double* coefficients, bool addPoint,
                  const PointsOut<D>&);
};

}
