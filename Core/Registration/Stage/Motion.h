#pragma once

#include "Core/Registration/Registration.h"

namespace tessera {

/// The motion of about 10000 points of the fixed image (and mask) from one chain to another.
struct Motion {
  double meanMm = 0, largestMm = 0;
  double insideAtStart = 0, insideAtEnd = 0; // shares of the points that map into the moving image
  double inMaskAtStart = 0, inMaskAtEnd = 0; // and into its mask, where there is one
  double foldedAtEnd = 0;                    // share of the points where the last chain is folded
  double insideIfCentred = 0; // share that maps into the moving image if the images' centres are put together
};

/// The masks by which a motion is measured; null: none.
template <int D>
struct MotionMasks {
  MaskPointer<D> fixed, moving;
};
/// Returns the masks of the first pair of images as they were given, which a level may erode.
template <int D>
MotionMasks<D> masksAsGiven(const StageInput<D>&);

template <int D>
Motion motionBetween(const Context&, const StageInput<D>&, const MotionMasks<D>&,
                     const TransformChain<D>& start, const TransformChain<D>& end);

/// Whether a point lies in a voxel of the image; one that is not a number does not.
template <int D>
bool isInside(const ImageGeometry<D>& image, const PointToIndex<D>& pointToIndex, const Vec<D>& pointMm);

template <int D>
double diagonalMm(const ImageGeometry<D>& geometry);

/// A motion counts as far if it is at least this share of the fixed image's diagonal.
constexpr double farAway = 0.05;
/// Fewer points in the moving image are too few: elastix's RequiredRatioOfValidSamples.
constexpr double fewInside = 0.25;

}
