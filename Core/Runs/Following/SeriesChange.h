#pragma once

#include "Core/Image/Image.h"

#include <functional>
#include <span>
#include <vector>

namespace tessera {

/// How the intensities of a series change over time, at the voxels whose mean lies above a fifth of the way
/// from the least to the 98th percentile of all means, and that are 0, which is a filling, in no volume.
struct SeriesChange {
  std::vector<float> mean, deviation; // over time, of each voxel
  std::vector<std::size_t> inside;    // those voxels
  double level = 0;                   // the magnitude of their mean
  /// The root mean square over these voxels of the change since the volume before, as a percentage of the
  /// level (DVARS: Power et al., "Spurious but systematic correlations in functional connectivity MRI
  /// networks arise from subject motion", 2012, in another unit). NaN for the first volume, and where one of
  /// the two has no values.
  std::vector<double> dvarsPercent;

  /// The root mean square of the deviations of these voxels, as a percentage of the level; NaN without a
  /// level.
  double deviationPercent() const;
  /// The mean over the volumes that have one; NaN if none has.
  double meanDvarsPercent() const;
};

/// The values of a volume, the same number for each; none if it has no result. They need not outlive the next
/// call.
using VolumeValues = std::function<std::span<const float>(std::size_t volume)>;

SeriesChange changeOf(std::size_t volumes, std::size_t voxels, const VolumeValues&);

}
