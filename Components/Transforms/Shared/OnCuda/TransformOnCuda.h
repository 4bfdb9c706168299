#pragma once

#include "Components/Transforms/Shared/DisplacementImage.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Core/Registration/TransformParts.h"

#include <array>

namespace tessera {

/// The models of transforms that kernels evaluate.
enum class TransformKind { linear, bspline, kernelSpline, displacementImage };

/// A transform in the form that kernels take: plain numbers, and pointers to device memory that something
/// else owns.
template <int D>
struct TransformOnCuda {
  TransformKind kind = TransformKind::linear;
  Combination combination = Combination::compose;

  AffineMap<D> map; // linear: in mm; image of displacements: index from point
  Vec<D> centerMm{};

  PointToIndex<D> pointToIndex{}; // B-spline: index of control points; kernel spline: identity
  std::array<int, D> points{};    // control points an axis; image of displacements: voxels an axis
  int order = 3;                  // order of the B-spline, or of the image's interpolation
  bool cyclic = false;
  /// B-spline: in mm, component * all control points + control point, x fastest. Kernel spline: its vectors.
  const double* coefficients = nullptr;

  SplineKernel kernel = SplineKernel::thinPlate; // kernel spline
  int landmarks = 0;
  double alpha = 0;
  const double* landmarksMm = nullptr;
  int block = 1;                     // kernel spline: components that its system couples
  const double* influence = nullptr; // d vectors / d parameters; null if the vectors are constant
  const double* influenceTransposed = nullptr;

  const float* displacements = nullptr; // image of displacements: its voxels

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
  /// The number of components that a B-spline displaces.
  TESSERA_HOST_DEVICE int components() const { return cyclic ? D - 1 : D; }
};

/// A chain of transforms, first to last.
template <int D>
struct ChainOnCuda {
  static constexpr int maxLinks = 8;
  int count = 0;
  TransformOnCuda<D> links[maxLinks];
};

}
