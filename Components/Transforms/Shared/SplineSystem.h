#pragma once

#include "Components/Transforms/Shared/SplineKernel.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// What besides the moving landmarks makes a spline.
template <int D>
struct SplineModel {
  SplineKernel kernel = SplineKernel::thinPlate;
  double poissonRatio = 0.3; // of the elastic kernels
  double relaxation = 0;     // 0 interpolates the landmarks, more approximates them
  std::vector<Vec<D>> landmarksMm;

  double alpha() const { return elasticAlpha(kernel, poissonRatio); }
  /// Components of displacements that its system couples: D, or 1 if G is a multiple of I.
  std::size_t block() const { return D == 3 && hasOuterProduct(kernel) ? D : 1; }
  /// Vectors that make a spline: weights, columns of I + A, b.
  std::size_t vectors() const { return landmarksMm.size() + D + 1; }
};

/// The vectors of SplineOfLandmarks from moving landmarks, point by point (Davis et al., "A physics-based
/// coordinate transformation for 3-D image matching", 1997): (K + relaxation I) w + P a = their
/// displacements, P^T w = 0. Nothing if the landmarks determine no spline: there are equal ones, or all are
/// on a line or plane.
template <int D>
std::optional<std::vector<double>> splineVectors(const SplineModel<D>&,
                                                 std::span<const double> movingLandmarksMm);

/// The same of moving landmarks that are the fixed ones: no weights, I, 0.
template <int D>
std::vector<double> identityVectors(const SplineModel<D>&);

/// d vectors / d moving landmarks, row-major: vectors() * block rows of landmarks * block numbers, the same
/// for all components if block is 1. Nothing as above.
template <int D>
std::optional<std::vector<double>> splineInfluence(const SplineModel<D>&);

}
