#pragma once

#include "Core/Image/Voxels/LabelPair.h"
#include "Core/Registration/Registration.h"
#include "Core/Runs/MutualInformation.h"

#include <map>
#include <optional>

namespace tessera {

/// How well the images of a run fit, at about 100,000 points of the first fixed image (and mask). "Before" is
/// with the transform of -t0, or where the images lie.
struct RunQuality {
  double overlapBefore = 0, overlap = 0; // shares of the points that map into the moving image (and mask)
  std::optional<double> correlationBefore, correlation; // of the intensities there; none: no contrast
  double meanDisplacementMm = 0, largestDisplacementMm = 0;
  double outside = 0; // share of the voxels of the fixed image, masked or not, outside the moving one
  /// After the linear transforms, if the chain begins with them.
  std::optional<MutualInformation> mutualInformation;
  bool fixedIsInPatches = false, movingIsInPatches = false; // of few values, as masks and label maps are
  /// The determinant of the spatial Jacobian if the transform is linear, else the median of all. Empty if
  /// there are no derivatives.
  std::optional<double> determinant;

  struct Distances {
    std::size_t count = 0;
    double beforeMm = 0, meanMm = 0, largestMm = 0; // means, and the largest after
  };
  std::optional<Distances> points; // of -fp to -mp

  /// Volumes are in mm^D. The logarithm of det dT/dx is that of the change of volume from the fixed image to
  /// the moving one, at the voxels of the fixed label that do not fold.
  struct Label {
    std::string name; // of a table beside the label map; empty: none
    double dice = 0, diceBefore = 0;
    double fixedVolume = 0, movingVolume = 0;      // each on the grid of its own image
    std::size_t fixedVoxels = 0, movingVoxels = 0; // there
    double logJacobianIntegral = 0;                // mm^D
    std::optional<double> meanLogJacobian;         // none: no voxel of the fixed image has this label
    std::size_t foldedVoxels = 0;
  };
  struct Labels {
    std::map<std::int64_t, Label> byLabel; // 0 is not one
    double meanDice = 0, meanDiceBefore = 0;
  };
  std::optional<Labels> labels; // of --fLabels and the warped --mLabels, at all voxels of the fixed ones

  /// SeriesChange says what these figures of a series are that was registered to itself. NaN stands for a
  /// figure that the series does not have.
  struct OverTime {
    double deviationPercentBefore = 0, deviationPercent = 0, dvarsPercentBefore = 0, dvarsPercent = 0;
  };
  std::optional<OverTime> overTime;

  /// For the log.
  std::vector<std::string> lines() const;
  /// What speaks against it that the images show the same thing. One sign alone may have another reason.
  std::vector<std::string> mismatchSigns() const;
};

/// Null stands for no initial transform.
template <int D>
RunQuality runQuality(const Context&, const Registry&, const StageInput<D>&, const TransformChain<D>* before,
                      const TransformChain<D>& result);

/// Compares the label maps of the fixed image (first) and the moving one (second). Null stands for no initial
/// transform. Throws Error(usage) if a transform of the chain has no derivatives.
template <int D>
RunQuality::Labels labelQuality(const Context&, const Registry&, const LabelPair<D>&,
                                const TransformChain<D>* before, const TransformChain<D>& result);

}
