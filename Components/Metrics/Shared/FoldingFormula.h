#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainJet.h"

#include <cmath>

// The formula of TransformFoldingPenalty, for the CPU and for kernels.
namespace tessera {

/// Below this determinant the penalty is continued by the parabola of equal value, slope and curvature, so
/// that it is finite, convex and twice differentiable where the transform folds. The value is so small that
/// a few samples near a fold outweigh what the images gain by it.
constexpr double smallVolume = 0.01;
constexpr double logSmallVolume = -4.605170185988091368;

/// The penalty of the determinant d of a spatial Jacobian, max(|log d| - tolerated, 0)^2, and its derivative
/// by the determinant. 0 <= tolerated < -logSmallVolume.
struct VolumePenalty {
  double value, slope;
};

TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE VolumePenalty volumePenalty(double determinant, double tolerated)
{
  if (determinant >= smallVolume) {
    const double logarithm = log(determinant),
                 excess = copysign(fmax(fabs(logarithm) - tolerated, 0.0), logarithm);
    return {excess * excess, 2 * excess / determinant};
  }
  const double excess = logSmallVolume + tolerated, slope = 2 * excess / smallVolume,
               curvature = 2 * (1 - excess) / (smallVolume * smallVolume);
  const double below = determinant - smallVolume;
  return {excess * excess + below * (slope + below * curvature / 2), slope + below * curvature};
}

/// The determinant, and its derivatives by the entries: the cofactors.
template <int D>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double determinantAndCofactors(const double (&m)[D][D],
                                                                         double (&cofactors)[D][D])
{
  if constexpr (D == 2) {
    cofactors[0][0] = m[1][1];
    cofactors[0][1] = -m[1][0];
    cofactors[1][0] = -m[0][1];
    cofactors[1][1] = m[0][0];
  } else {
    TESSERA_UNROLL
    for (int k = 0; k < 3; ++k) {
      TESSERA_UNROLL
      for (int a = 0; a < 3; ++a)
        cofactors[k][a] = m[(k + 1) % 3][(a + 1) % 3] * m[(k + 2) % 3][(a + 2) % 3]
                          - m[(k + 1) % 3][(a + 2) % 3] * m[(k + 2) % 3][(a + 1) % 3];
    }
  }
  double determinant = 0;
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a)
    determinant += m[0][a] * cofactors[0][a];
  return determinant;
}

/// The penalty at a sample.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE double foldingPenalty(const Jet<D, Derivatives>& jet, double tolerated)
{
  double cofactors[D][D];
  return volumePenalty(determinantAndCofactors<D>(jet.jacobian, cofactors), tolerated).value;
}

/// The derivative by J1, the last transform's spatial Jacobian, from that by J = J1 J0.
template <int D>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void covectorOfLastJacobian(const double (&ofJacobian)[D][D],
                                                                      const double (&before)[D][D],
                                                                      double (&covector)[D][D])
{
  TESSERA_UNROLL
  for (int k = 0; k < D; ++k) {
    TESSERA_UNROLL
    for (int l = 0; l < D; ++l) {
      covector[k][l] = 0;
      TESSERA_UNROLL
      for (int a = 0; a < D; ++a)
        covector[k][l] = fma(ofJacobian[k][a], before[l][a], covector[k][l]);
    }
  }
}

/// The derivative of the penalty by J1, the last transform's spatial Jacobian, where J = J1 J0.
template <int D, int Derivatives>
TESSERA_HOST_DEVICE void foldingCovectorOfJacobian(const Jet<D, Derivatives>& jet,
                                                   const Jet<D, Derivatives>& before, double tolerated,
                                                   double (&covector)[D][D])
{
  double cofactors[D][D];
  const double slope = volumePenalty(determinantAndCofactors<D>(jet.jacobian, cofactors), tolerated).slope;
  covectorOfLastJacobian<D>(cofactors, before.jacobian, covector);
  TESSERA_UNROLL
  for (int e = 0; e < D * D; ++e)
    covector[e / D][e % D] *= slope;
}

/// The derivative of a penalty by the first derivatives g of indexDerivatives, for one component of a
/// B-spline, from that by the component's spatial Jacobian.
template <int D>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void
covectorOfIndex(const double (&axes)[D][D], const double (&ofJacobian)[D], double (&covector)[D])
{
  TESSERA_UNROLL
  for (int a = 0; a < D; ++a) {
    covector[a] = 0;
    TESSERA_UNROLL
    for (int l = 0; l < D; ++l)
      covector[a] = fma(axes[a][l], ofJacobian[l], covector[a]);
  }
}

/// The penalty where the last transform is a B-spline that is alone or added: J = J0 + g axes, with J0 the
/// Jacobian of the transforms before and g[c][a] the derivative of displacement component c by index a.
template <int D>
struct FoldingAtVoxel {
  double before[D][D], axes[D][D]; // J0; d index_a / d x_j in 1/mm
  double tolerated;

  FoldingAtVoxel(const Matrix<D>& jacobian, const Matrix<D>& indexFromOffset, double toleratedLogVolume)
      : tolerated(toleratedLogVolume)
  {
    for (int e = 0; e < D * D; ++e) {
      before[e / D][e % D] = jacobian[e / D][e % D];
      axes[e / D][e % D] = indexFromOffset[e / D][e % D];
    }
  }

  /// The determinant of J, and its derivatives by the entries.
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double
  determinant(const double (&g)[D][D], const double (&jacobianBefore)[D][D], double (&cofactors)[D][D]) const
  {
    double jacobian[D][D];
    TESSERA_UNROLL
    for (int c = 0; c < D; ++c) {
      TESSERA_UNROLL
      for (int j = 0; j < D; ++j) {
        jacobian[c][j] = jacobianBefore[c][j];
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a)
          jacobian[c][j] = fma(g[c][a], axes[a][j], jacobian[c][j]);
      }
    }
    return determinantAndCofactors<D>(jacobian, cofactors);
  }

  /// The derivatives by g of the penalty whose derivative by the determinant is `slope`.
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE void covectorOf(double (&cofactors)[D][D], double slope,
                                                            double (&covector)[D][D]) const
  {
    TESSERA_UNROLL
    for (int c = 0; c < D; ++c) {
      TESSERA_UNROLL
      for (int j = 0; j < D; ++j)
        cofactors[c][j] *= slope;
      covectorOfIndex<D>(axes, cofactors[c], covector[c]);
    }
  }

  /// Writes the derivatives of the penalty by g, too.
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE double penalty(const double (&g)[D][D],
                                                           double (&covector)[D][D]) const
  {
    double cofactors[D][D];
    const VolumePenalty found = volumePenalty(determinant(g, before, cofactors), tolerated);
    covectorOf(cofactors, found.slope, covector);
    return found.value;
  }
};

}
