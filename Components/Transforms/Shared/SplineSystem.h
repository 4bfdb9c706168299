#pragma once

#include "Components/Transforms/Shared/SplineKernel.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// All that determines a spline, except its moving landmarks.
template <int D>
struct SplineModel {
  SplineKernel kernel = SplineKernel::thinPlate;
  double poissonRatio = 0.3; // used by the elastic kernels
  double relaxation = 0;     // 0 interpolates the landmarks; a larger value approximates them
  std::vector<Vec<D>> landmarksMm;

  double alpha() const { return elasticAlpha(kernel, poissonRatio); }
  /// How many components of the displacements its system couples: D, or 1 if G is a multiple of I.
  std::size_t block() const { return D == 3 && hasOuterProduct(kernel) ? D : 1; }
  /// How many vectors a spline consists of: weights, columns of I + A, and b.
  std::size_t vectors() const { return landmarksMm.size() + D + 1; }
};

/// The vectors of SplineOfLandmarks for moving landmarks, point by point (Davis et al., "A physics-based
/// coordinate transformation for 3-D image matching", 1997). They solve
///
///   (K + relaxation I) w + P a = displacements of the landmarks,  P^T w = 0.
///
/// There is no result if the landmarks determine no spline, because some are equal or all lie on a line or
/// plane.
template <int D>
std::optional<std::vector<double>> splineVectors(const SplineModel<D>&,
                                                 std::span<const double> movingLandmarksMm);

/// The vectors if the moving landmarks equal the fixed ones: zero weights, the identity, 0.
template <int D>
std::vector<double> identityVectors(const SplineModel<D>&);

/// d vectors / d moving landmarks, row-major: vectors() * block rows of landmarks * block numbers, the same
/// for all components if block is 1. There is no result if the landmarks determine no spline.
template <int D>
std::optional<std::vector<double>> splineInfluence(const SplineModel<D>&);

}
