#pragma once

#include "Components/Interpolators/Shared/SplineOverTime.h"

namespace tessera {

/// Interpolator::evaluate for linear interpolation between voxels. `gradients` may be null. `Real`, float or
/// double, is the type in which sums are formed.
template <int D, class Real>
class LinearBatch {
public:
  static void evaluate(const SplineImage<D>& image, const ListSamples<D>& points, float* values,
                       float* const* gradients, std::uint8_t* inside)
  {
    if (gradients)
      withGradients(image, points, values, gradients, inside);
    else
      valuesAlone(image, points, values, inside);
  }

  /// Does the work of Interpolator::evaluateRow.
  static bool evaluateRow(const SplineImage<D>& image, const IndexRow<D>& row, float* values,
                          RowSpan& inside);

private:
  /// Evaluates points [begin, end): those with voxels all around them, or any that are inside.
  static void interiorOfRow(const SplineImage<D>&, const IndexRow<D>&, std::int32_t begin, std::int32_t end,
                            float* values);
  static void borderOfRow(const SplineImage<D>&, const IndexRow<D>&, std::int32_t begin, std::int32_t end,
                          float* values);
  static void valuesAlone(const SplineImage<D>&, const ListSamples<D>&, float* values, std::uint8_t* inside);
  static void withGradients(const SplineImage<D>&, const ListSamples<D>&, float* values,
                            float* const* gradients, std::uint8_t* inside);
};

template <class Real>
class LinearBatch<4, Real> {
public:
  static void evaluate(const SplineImage<4>& image, const ListSamples<4>& points, float* values,
                       float* const* gradients, std::uint8_t* inside)
  {
    evaluateOverTime(image, 1, points, values, gradients, inside);
  }
  static bool evaluateRow(const SplineImage<4>&, const IndexRow<4>&, float*, RowSpan&) { return false; }
};

}
