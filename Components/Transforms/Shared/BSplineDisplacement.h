#pragma once

#include "Components/Transforms/Shared/BSplineSupport.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// The grid's data that the kernels need.
template <int D>
struct FieldView {
  SupportFinder<D> finder;
  std::ptrdiff_t points;
  int components;
};

/// Computes the displacements of batches of points.
template <int D, int Order>
class DisplaceBatch {
public:
  /// Does the work of BSplineField::displace.
  static void run(const FieldView<D>&, const ListSamples<D>&, const double* coefficients, bool addPoint,
                  const PointsOut<D>&);
};

}
