#pragma once

#include "Core/Registration/OptimizableTransform.h"

#include <array>
#include <vector>

namespace tessera {

/// Both images of a stage in coarse blocks, the fixed one as points, and how well rigid maps R (x - c) + t +
/// c bring them together; c is the centre of the fixed image. Masks count.
template <int D>
class CoarsePair {
public:
  /// About `wantedPoints` blocks for the fixed image, and blocks of the same size for the moving one. Throws
  /// Error(registrationFailed) if an image has only one intensity.
  CoarsePair(Context&, const TransformStart<D>&, std::size_t wantedPoints);

  const Vec<D>& centerMm() const { return centerMm_; }
  /// The largest extent of the fixed image along its axes.
  double extentMm() const { return extentMm_; }

  /// The translations that bring the centres of geometry, and those of gravity, together.
  std::array<Vec<D>, 2> translations(const Matrix<D>& rotation) const;

  /// The normalized mutual information (H(F) + H(M)) / H(F, M) of the points that map into the moving image
  /// and its mask; minus infinity if they are less than half of the smaller image.
  double score(const Matrix<D>& rotation, const Vec<D>& translationMm) const;

private:
  /// The mean position of the numbers of an image, and that weighted by them.
  struct Middles {
    Vec<D> geometryMm{}, gravityMm{};
    double count = 0;

    Middles() = default;
    explicit Middles(const Image<D>&);
  };
  Vec<D> turned(const Matrix<D>& rotation, Vec<D> pointMm) const;
  bool binAt(const Vec<D>& index, double& bin) const;

  std::vector<Vec<D>> pointsMm_;
  std::vector<int> bins_; // of the fixed image at the points
  Image<D> moving_;       // in bins; NaN outside the mask
  AffineMap<D> indexFromPoint_;
  Vec<D> centerMm_{};
  Middles ofFixed_, ofMoving_;
  double leastPoints_ = 0, extentMm_ = 0;
};

}
