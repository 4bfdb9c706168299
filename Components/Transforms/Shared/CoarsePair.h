#pragma once

#include "Components/Transforms/Shared/CoarseCells.h"
#include "Core/Registration/OptimizableTransform.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera {

/// How well the images fit at a place; minus infinity where too little of them overlaps.
struct CoarseFit {
  /// The normalized mutual information (H(F) + H(M)) / H(F, M) of what overlaps.
  double information = -std::numeric_limits<double>::infinity();
  /// Places are compared by this. quickFit: (information - 1) (n / N)^(1/4), where n points overlap and N
  /// can; few points fit better by chance. fit: that times (n / N)^(1/2) and the mean squared correlation
  /// within small windows, which organs of two people share where edges of the fields of view mislead the
  /// information. To climb from a place by it would lead away from where the images fit best.
  double gain = -std::numeric_limits<double>::infinity();
};

/// Both images of a stage in coarse blocks, the one of the smaller volume as points, and how well rigid maps
/// R (x - c) + t + c bring them together; c is the centre of the fixed image. Masks count.
template <int D>
class CoarsePair {
public:
  /// About `wantedPoints` blocks for the smaller image, and blocks of the same size for the other one. Throws
  /// Error(registrationFailed) if an image has only one intensity.
  CoarsePair(Context&, const TransformStart<D>&, std::size_t wantedPoints);

  const Vec<D>& centerMm() const { return centerMm_; }
  /// The largest extent of the smaller image along its axes.
  double extentMm() const { return extentMm_; }

  /// The translations that bring the centres of geometry, and those of gravity, together.
  std::array<Vec<D>, 2> translations(const Matrix<D>& rotation) const;

  /// The translations that put the middle of the smaller image on a lattice in the other one, as far as a
  /// step beyond where its turned box lies inside. The lattice is wider where it would have more than 2000
  /// places.
  std::vector<Vec<D>> placements(const Matrix<D>& rotation) const;

  /// The fit of the points that map into the moving image and its mask, unless they are less than half of the
  /// smaller image.
  CoarseFit fit(const Matrix<D>& rotation, const Vec<D>& translationMm) const;
  /// Returns the fit by the nearest blocks and fewer bins, in a fifth of the time.
  CoarseFit quickFit(const Matrix<D>& rotation, const Vec<D>& translationMm) const;

private:
  /// The mean position of the numbers of an image, and that weighted by them.
  struct Middles {
    Vec<D> geometryMm{}, gravityMm{};
    double count = 0;

    Middles() = default;
    explicit Middles(const Image<D>&);
  };
  void prepareQuickFit();
  Vec<D> turned(const Matrix<D>& rotation, Vec<D> pointMm) const
  {
    for (int d = 0; d < D; ++d)
      pointMm[d] -= centerMm_[d];
    return AffineMap<D>{rotation, centerMm_}(pointMm);
  }
  Size<D> stepsOfLattice(const Matrix<D>& rotation, double stepMm) const;
  CoarseFit fitOf(double information, double points) const;
  MapToIndex toIndex(const Matrix<D>& rotation, const Vec<D>& translationMm) const;
  std::array<const float*, 3> pointsFrom(std::size_t first) const
  {
    return {pointsMm_[0].data() + first, pointsMm_[1].data() + first, pointsMm_[2].data() + first};
  }

  bool pointsAreMoving_ = false;
  std::vector<float> pointsMm_[3]; // from the middle of the smaller image
  std::vector<int> bins_;          // of the smaller image at the points
  ImageGeometry<D> smaller_;       // of its blocks
  Image<D> other_;                 // in bins; NaN outside the mask
  AffineMap<D> indexFromPoint_;
  Vec<D> centerMm_{};
  Middles ofFixed_, ofMoving_;
  double leastPoints_ = 0, mostPoints_ = 0, extentMm_ = 0;
  std::vector<std::size_t> windows_; // of the points, small cubes side by side
  std::size_t windowCount_ = 0;
  std::vector<int> quickRows_;          // of the points in the joint histogram
  std::vector<std::uint8_t> quickBins_; // of the other image, and last that of all that lies outside
  std::vector<double> entropyTerms_;    // n log n
};

}
