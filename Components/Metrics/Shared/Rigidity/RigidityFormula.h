#pragma once

#include "Components/Metrics/Shared/FoldingFormula.h"

#include <array>

// The formula of TransformRigidityPenalty at a control point, for the CPU and for kernels.
namespace tessera {

/// The filters that turn the coefficients of one component into its derivatives at the control points: D
/// first derivatives, along each axis of the grid, then symmetricCount(D) second ones, the upper triangle row
/// by row. A filter is a product of three taps along each axis, times a factor.
template <int D>
constexpr int rigidityFilters = D + symmetricCount(D);

/// How often a filter differentiates along an axis: 0, 1 or 2 times.
template <int D>
TESSERA_HOST_DEVICE constexpr int derivativesAlong(int filter, int axis)
{
  if (filter < D)
    return filter == axis;
  int f = D;
  for (int a = 0; a < D; ++a)
    for (int b = a; b < D; ++b, ++f)
      if (f == filter)
        return (a == axis) + (b == axis);
  return 0;
}

/// The tap at offset - 1 (offset 0 to 2) of the filter along an axis that differentiates so often: the values
/// of a cubic B-spline, and plain differences of neighbours.
TESSERA_HOST_DEVICE constexpr double rigidityTap(int derivatives, int offset)
{
  constexpr double taps[3][3] = {{1.0 / 6, 4.0 / 6, 1.0 / 6}, {-1, 0, 1}, {1, -2, 1}};
  return taps[derivatives][offset];
}

/// The tap through which control point `from` enters the filtered value at `at`, which is itself or a
/// neighbour on an axis of `size` points. The border is repeated, so a point on it may enter twice.
TESSERA_HOST_DEVICE constexpr double tapFrom(int derivatives, int from, int at, int size)
{
  double tap = 0;
  for (int offset = 0; offset < 3; ++offset) {
    const int read = at + offset - 1;
    if (from == (read < 0 ? 0 : read >= size ? size - 1 : read))
      tap += rigidityTap(derivatives, offset);
  }
  return tap;
}

/// The factors of the filters on a grid of this spacing (mm). They are elastix's: first derivatives as they
/// are, halves of the second derivatives along one axis, and mixed second derivatives divided by the product
/// of both spacings.
template <int D>
std::array<double, rigidityFilters<D>> rigidityFactors(const Vec<D>& spacingMm)
{
  std::array<double, rigidityFilters<D>> factors{};
  for (int a = 0, f = D; a < D; ++a) {
    factors[a] = 1 / (2 * spacingMm[a]);
    for (int b = a; b < D; ++b, ++f) {
      const double product = 1 / (2 * spacingMm[a] * spacingMm[b]);
      factors[f] = a == b ? product : product * product;
    }
  }
  return factors;
}

/// The conditions, in the order of elastix's table.
namespace rigidity {
constexpr int linearity = 0, orthonormality = 1, properness = 2, conditions = 3;
}

/// A grid of control points for the CPU and for kernels.
template <int D>
struct RigidityGrid {
  std::array<int, D> size{};
  std::array<double, rigidityFilters<D>> factors{};
  Matrix<D> direction{};

  TESSERA_HOST_DEVICE int pointCount() const
  {
    int count = 1;
    for (int d = 0; d < D; ++d)
      count *= size[d];
    return count;
  }
};

/// The result of an evaluation.
struct RigiditySums {
  /// Over all control points: sums of the rigidity times each condition, and the sum of the rigidity.
  double ofPoints[rigidity::conditions + 1] = {};
  double squares[rigidity::conditions] = {}; // squared norm of each condition's weighted gradient

  TESSERA_HOST_DEVICE double ofRigidity() const { return ofPoints[rigidity::conditions]; }
};

/// Below this sum of rigidity there is no penalty, as in elastix.
TESSERA_HOST_DEVICE inline bool isRigidAnywhere(const RigiditySums& sums)
{
  return sums.ofRigidity() >= 1e-14;
}

/// The arrays of covectors that an evaluation needs for each component of the displacement: those of the
/// linearity condition by the filters of second derivatives, then those of the two others by first
/// derivatives. They are multiplied by the rigidity and by the factor of the filter.
template <int D>
constexpr int rigidityCovectors = symmetricCount(D) + 2 * D;
template <int D>
TESSERA_HOST_DEVICE constexpr int filterOfCovector(int covector)
{
  return covector < symmetricCount(D) ? D + covector : (covector - symmetricCount(D)) % D;
}
template <int D>
TESSERA_HOST_DEVICE constexpr int conditionOfCovector(int covector)
{
  return covector < symmetricCount(D)       ? rigidity::linearity
         : covector < symmetricCount(D) + D ? rigidity::orthonormality
                                            : rigidity::properness;
}

/// The conditions at a control point, and their derivatives by the filtered values.
template <int D>
struct RigidityAtPoint {
  double terms[rigidity::conditions];
  double covectors[D][rigidityCovectors<D>];

  /// `filtered[k][f]` is filter f of component k.
  TESSERA_HOST_DEVICE RigidityAtPoint(const double (&filtered)[D][rigidityFilters<D>],
                                      const RigidityGrid<D>& grid)
  {
    constexpr int second = symmetricCount(D);
    double jacobian[D][D], ofDeterminant[D][D], ofProducts[D][D] = {};
    terms[rigidity::linearity] = 0;
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      TESSERA_UNROLL
      for (int a = 0; a < D; ++a) {
        jacobian[k][a] = k == a;
        TESSERA_UNROLL
        for (int b = 0; b < D; ++b)
          jacobian[k][a] += filtered[k][b] * grid.direction[a][b];
      }
      TESSERA_UNROLL
      for (int s = 0; s < second; ++s) {
        terms[rigidity::linearity] += filtered[k][D + s] * filtered[k][D + s];
        covectors[k][s] = 2 * filtered[k][D + s];
      }
    }
    terms[rigidity::orthonormality] = 0;
    TESSERA_UNROLL
    for (int a = 0; a < D; ++a) {
      TESSERA_UNROLL
      for (int b = a; b < D; ++b) {
        double product = a == b ? -1 : 0;
        TESSERA_UNROLL
        for (int k = 0; k < D; ++k)
          product += jacobian[k][a] * jacobian[k][b];
        terms[rigidity::orthonormality] += product * product;
        TESSERA_UNROLL
        for (int k = 0; k < D; ++k) {
          ofProducts[k][a] += 2 * product * jacobian[k][b];
          ofProducts[k][b] += 2 * product * jacobian[k][a];
        }
      }
    }
    const double excess = determinantAndCofactors<D>(jacobian, ofDeterminant) - 1;
    terms[rigidity::properness] = excess * excess;
    // From derivatives by the Jacobian in the world to those by first derivatives along the grid's axes.
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      TESSERA_UNROLL
      for (int b = 0; b < D; ++b) {
        double ofProduct = 0, ofVolume = 0;
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a) {
          ofProduct += ofProducts[k][a] * grid.direction[a][b];
          ofVolume += ofDeterminant[k][a] * grid.direction[a][b];
        }
        covectors[k][second + b] = ofProduct;
        covectors[k][second + D + b] = 2 * excess * ofVolume;
      }
    }
  }
};

}
