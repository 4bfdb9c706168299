#include "Components/ImageSamplers/RandomSampler.h"

#include "Components/ImageSamplers/Shared/RandomDraws.h"

namespace tessera {

template <int D>
const ComponentDescription& RandomSampler<D>::description()
{
  static const ComponentDescription description{"ImageSampler",
                                                "Random",
                                                "random voxels of the fixed image inside the mask",
                                                {numberOfSpatialSamples()}};
  return description;
}

template <int D>
void RandomSampler<D>::prepareForLevel(Context& context, const ImagePointer<D>& fixed,
                                       const MaskPointer<D>& mask, std::size_t level)
{
  fixed_ = fixed;
  mask_ = mask;
  box_ = this->boxIn(fixed->geometry, mask);
  onCuda_.reset();
  if (D < 4 && context.onCuda())
    onCuda_.emplace(context, fixed, mask, counts_[level], description().name);
  this->samples_ = onCuda_ ? onCuda_->samples() : emptySamples<D>(counts_[level]);
}

template <int D>
void RandomSampler<D>::draw(Context& context, const Draw& draw)
{
  if constexpr (D < 4)
    if (onCuda_)
      return onCuda_->drawVoxels(context, draw, box_);
  PointList<D>& samples = std::get<PointList<D>>(this->samples_);
  const AffineMap<D> pointFromIndex = fixed_->geometry.pointFromIndex();
  AttemptLimit attempts(samples.positions(), description().name);
  forEachRange(context, samples.positions(), samplesAChunk, [&](std::size_t first, std::size_t last) {
    std::array<const float*, samplesAChunk> voxels;
    attempts.placeAll(draw, first, last, [&](std::size_t sample, const std::array<std::uint32_t, 4>& words) {
      const PlacedVoxel<D> placed = voxelIn<D>(box_.first, box_.size, fixed_->geometry.size, words);
      const Vec<D> pointMm = pointFromIndex(placed.index);
      if (mask_ && !mask_->contains(pointMm))
        return false;
      setPoint<D>(samples, sample, pointMm);
      voxels[sample - first] = fixed_->voxels.data() + placed.offset;
      __builtin_prefetch(voxels[sample - first]);
      return true;
    });
    for (std::size_t sample = first; sample < last; ++sample)
      samples.fixed[sample] = *voxels[sample - first];
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(RandomSampler);

}
