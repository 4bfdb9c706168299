#include "Components/Resamplers/Shared/SourceBatches.h"

#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <array>

namespace tessera {

template <int D>
SourceBatches<D>::SourceBatches(const ResampleSource<D>& source, Extrapolation extrapolation,
                                float outsideValue, const std::optional<AffineMap<D>>& mappedFromVoxel)
    : source_(source), extrapolation_(extrapolation), outsideValue_(outsideValue),
      pointToIndex_(source.interpolator->imageGeometry().pointToIndex()),
      pointFromIndex_(source.interpolator->imageGeometry().pointFromIndex())
{
  for (int d = 0; d < D; ++d)
    last_[d] = static_cast<double>(source.interpolator->imageGeometry().size[d]) - 1;
  if (!mappedFromVoxel || extrapolation != Extrapolation::constant || source.valid)
    return;
  goesByRows_ = true;
  indexFromVoxel_ = compose(source.interpolator->imageGeometry().indexFromPoint(), *mappedFromVoxel);
}

template <int D>
bool SourceBatches<D>::evaluateRow(const Vec<D>& firstVoxel, std::size_t count, float* values) const
{
  RowSpan inside;
  IndexRow<D> row{indexFromVoxel_(firstVoxel), {}, count};
  for (int d = 0; d < D; ++d)
    row.step[d] = indexFromVoxel_.matrix[d][0];
  if (!goesByRows_ || !source_.interpolator->evaluateRow(row, values, inside))
    return false;
  std::fill(values, values + inside.begin, outsideValue_);
  std::fill(values + inside.end, values + count, outsideValue_);
  return true;
}

/// Replaces points outside the image by those whose values they get. Points inside are copied, not computed
/// from their index again, so that they keep their bits.
template <int D>
template <Extrapolation Rule>
void SourceBatches<D>::moveInside(const ListSamples<D>& mapped, const PointsOut<D>& out) const
{
  for (std::size_t i = 0; i < mapped.count; ++i) {
    Vec<D> pointMm = mapped.point(i), index = pointToIndex_(pointMm);
    bool moves = false;
    for (int d = 0; d < D; ++d) {
      const double inside = broughtInside<Rule>(index[d], last_[d]);
      moves = moves || inside != index[d];
      index[d] = inside;
    }
    if (moves)
      pointMm = pointFromIndex_(index);
    for (int d = 0; d < D; ++d)
      out[d][i] = pointMm[d];
  }
}

template <int D>
void SourceBatches<D>::evaluate(Context& context, const ListSamples<D>& mapped, float* values) const
{
  thread_local PointBatch<D> moved;
  ListSamples<D> points = mapped;
  if (extrapolation_ != Extrapolation::constant) {
    moved.count = mapped.count;
    if (extrapolation_ == Extrapolation::nearest)
      moveInside<Extrapolation::nearest>(mapped, moved.out());
    else
      moveInside<Extrapolation::mirror>(mapped, moved.out());
    points = moved.list();
  }
  std::array<std::uint8_t, batchCapacity> inside;
  source_.interpolator->evaluate(context, points, values, nullptr, inside.data());
  if (source_.valid)
    keepInMask<D>(*source_.valid, points, inside.data());
  for (std::size_t i = 0; i < points.count; ++i)
    values[i] = inside[i] ? values[i] : outsideValue_;
}

TESSERA_INSTANTIATE_CLASS_TO_4(SourceBatches);

}
