#pragma once

#include "Core/Runs/Resampling/ImageAtPoints.h"

#include <functional>
#include <optional>

namespace tessera {

/// How much the intensities of registered images tell of each other, and how much of that is left, as a share
/// from 0 on, where the moving image is then moved as a rigid body about the middle of the points. Images of
/// one object have their clear best place in the result.
struct MutualInformation {
  double nats = 0;
  double turnedAnyhow = 0;      // at the best of ten turns, each by another large angle about another axis
  double turnedBy10Degrees = 0; // at the best of the turns to both sides about each axis
  double shifted = 0; // at the best of the shifts to both sides along each axis, by a fifth of the root mean
                      // square distance of the points from their middle
};

/// The values of the moving image at points in mm, and whether these lie inside the image and mask.
template <int D>
using MovingValuesAt = std::function<ValuesAtPoints(const std::vector<Vec<D>>&)>;

/// From histograms of 16 x 16 bins between percentiles 0.5 and 99.5 of the intensities at the points inside.
/// `movingMm[i]` is the point to which the point of intensity `fixed[i]` is mapped. Nothing if no point is
/// inside, or if the images have no information of each other.
template <int D>
std::optional<MutualInformation> mutualInformation(const std::vector<float>& fixed,
                                                   const std::vector<Vec<D>>& movingMm,
                                                   const MovingValuesAt<D>&);

}
