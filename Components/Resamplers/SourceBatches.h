#pragma once

#include "Core/Registration/Extrapolation.h"
#include "Core/Registration/Resampler.h"

namespace tessera {

/// One image of a resampler: its values at batches of mapped points.
template <int D>
class SourceBatches {
public:
  SourceBatches(const ResampleSource<D>&, Extrapolation, float outsideValue);

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
  Vec<D> last_{}; // index of the last voxel
};

}
