#pragma once

#include "Core/Registration/Interpolation/Extrapolation.h"
#include "Core/Registration/Interpolation/RowInterpolator.h"
#include "Core/Registration/Resampler.h"

#include <optional>

namespace tessera {

/// One image of a resampler: its values at batches of mapped points.
template <int D>
class SourceBatches {
public:
  /// `mappedFromVoxel` gives T(x) from the index of a voxel of the output, if that is linear.
  SourceBatches(const ResampleSource<D>&, Extrapolation, float outsideValue,
                const std::optional<AffineMap<D>>& mappedFromVoxel = {});

  /// The values of `count` voxels along the first axis (at most batchCapacity). False, and nothing of use,
  /// where points are needed.
  bool evaluateRow(const Vec<D>& firstVoxel, std::size_t count, float* values) const;
  /// One batch, one thread; at most batchCapacity points.
  void evaluate(Context&, const ListSamples<D>& mapped, float* values) const;

private:
  template <Extrapolation Rule>
  void bringInside(const ListSamples<D>& mapped, const PointsOut<D>& out) const;

  ResampleSource<D> source_;
  Extrapolation extrapolation_;
  float outsideValue_;
  PointToIndex<D> pointToIndex_;
  AffineMap<D> pointFromIndex_;
  Vec<D> last_{};                            // index of the last voxel
  const RowInterpolator<D>* rows_ = nullptr; // null: points are needed
  AffineMap<D> indexFromVoxel_{};            // of the moving image, from those of the output
};

}
