#pragma once

#include "Core/Registration/Interpolation/Extrapolation.h"
#include "Core/Registration/Resampler.h"

#include <optional>

namespace tessera {

/// Evaluates one moving image on the CPU at batches of mapped points.
template <int D>
class SourceBatches {
public:
  /// `mappedFromVoxel`: T(x) as a function of the index of the output's voxel x, if T is linear; else empty.
  SourceBatches(const ResampleSource<D>&, Extrapolation, float outsideValue,
                const std::optional<AffineMap<D>>& mappedFromVoxel = {});

  /// Writes the values of `count` voxels along the first axis, at most batchCapacity. False if they have to
  /// be evaluated at points instead; `values` are then undefined.
  bool evaluateRow(const Vec<D>& firstVoxel, std::size_t count, float* values) const;
  /// Writes the values at mapped points, at most batchCapacity, by the calling thread alone.
  void evaluate(Context&, const ListSamples<D>& mapped, float* values) const;

private:
  template <Extrapolation Rule>
  void moveInside(const ListSamples<D>& mapped, const PointsOut<D>& out) const;

  ResampleSource<D> source_;
  Extrapolation extrapolation_;
  float outsideValue_;
  PointToIndex<D> pointToIndex_;
  AffineMap<D> pointFromIndex_;
  Vec<D> last_{};                 // index of the last voxel
  bool goesByRows_ = false;       // else evaluateRow is not possible
  AffineMap<D> indexFromVoxel_{}; // index of the moving image from the output's voxel
};

}
