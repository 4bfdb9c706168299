#pragma once

#include "Components/Transforms/Shared/DisplacementImage.h"
#include "Components/Transforms/Shared/SplineKernel.h"
#include "Core/Registration/TransformParts.h"

#include <array>

namespace tessera {

/// The models of transforms that kernels evaluate.
enum class TransformKind { linear, bspline, kernelSpline, displacementImage };

/// A transform as kernels see it: plain data, and pointers to the device's memory that something else owns.
template <int D>
struct TransformOnCuda {
  TransformKind kind = TransformKind::linear;
  Combination combination = Combination::compose;

  AffineMap<D> map; // linear: in mm; image of displacements: indexFromPoint
  Vec<D> centerMm{};

  PointToIndex<D> pointToIndex{}; // B-spline: index of control points; kernel spline: identity
  std::array<int, D> points{};    // control points an axis; image of displacements: voxels an axis
  int order = 3;                  // of a B-spline; of an image's interpolation
  bool cyclic = false;
  const double* coefficients =
      nullptr; // mm; component * all control points + control point, x fastest; kernel spline: vectors

  SplineKernel kernel = SplineKernel::thinPlate; // kernel spline
  int landmarks = 0;
  double alpha = 0;
  const double* landmarksMm = nullptr;
  int block = 1;                     // components that its system couples
  const double* influence = nullptr; // d vectors / d parameters; null if they stay as they are
  const double* influenceTransposed = nullptr;

  const float* displacements = nullptr; // image of displacements: voxels

  TESSERA_HOST_DEVICE int pointCount() const
  {
    int count = 1;
    for (int d = 0; d < D; ++d)
      count *= points[d];
    return count;
  }
  TESSERA_HOST_DEVICE SplineOfLandmarks<D> kernelSpline() const
  {
    return {kernel, alpha, landmarks, landmarksMm, coefficients};
  }
  TESSERA_HOST_DEVICE DisplacementImage<D> displacementImage() const
  {
    return {displacements, points, map, order};
  }
  /// Those that a B-spline displaces.
  TESSERA_HOST_DEVICE int components() const { return cyclic ? D - 1 : D; }
};

/// A chain of them, first to last.
template <int D>
struct ChainOnCuda {
  static constexpr int most = 8;
  int count = 0;
  TransformOnCuda<D> links[most];
};

}
