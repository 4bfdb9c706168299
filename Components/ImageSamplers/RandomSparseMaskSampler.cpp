#include "Components/ImageSamplers/RandomSparseMaskSampler.h"

#include "Components/ImageSamplers/Shared/RandomDraws.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// Offsets of the voxels whose centre lies in the mask, in order; rows are scanned on all threads.
template <int D>
std::vector<std::size_t> voxelsIn(const Context& context, const ImageGeometry<D>& geometry,
                                  const Mask<D>& mask)
{
  constexpr std::size_t rowsPerChunk = 64;
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  const std::size_t length = geometry.size[0], rows = geometry.voxelCount() / length;
  std::vector<std::vector<std::size_t>> found((rows + rowsPerChunk - 1) / rowsPerChunk);
  const bool sameGrid = mask.geometry == geometry;
  forEachRange(context, rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    auto& chunk = found[first / rowsPerChunk];
    for (std::size_t voxel = first * length; voxel < last * length; ++voxel)
      if (sameGrid ? mask.voxels[voxel] != 0
                   : mask.contains(pointFromIndex(indexOfVoxel<D>(geometry.size, voxel))))
        chunk.push_back(voxel);
  });
  std::vector<std::size_t> all;
  for (const auto& chunk : found)
    all.insert(all.end(), chunk.begin(), chunk.end());
  return all;
}

/// An upper bound, computed from volumes, of how many voxels of a grid lie in a mask; all voxels if the mask
/// is not read yet.
template <int D>
std::size_t maxVoxelsIn(const ImageGeometry<D>& geometry, const Mask<D>& mask)
{
  if (mask.voxels.empty())
    return geometry.voxelCount();
  auto inside =
      static_cast<double>(mask.voxels.size() - static_cast<std::size_t>(std::ranges::count(mask.voxels, 0)));
  if (mask.geometry != geometry) {
    for (int d = 0; d < D; ++d)
      inside *= mask.geometry.spacingMm[d] / geometry.spacingMm[d];
    constexpr double borders = 1.02;
    inside = borders * inside + static_cast<double>(geometry.size[0]);
  }
  return std::min(geometry.voxelCount(), static_cast<std::size_t>(std::ceil(inside)));
}
}

template <int D>
const ComponentDescription& RandomSparseMaskSampler<D>::description()
{
  static const ComponentDescription description{
      "ImageSampler",
      "RandomSparseMask",
      "random voxels of the fixed image from a list of those inside the mask",
      {numberOfSpatialSamples()}};
  return description;
}

template <int D>
void RandomSparseMaskSampler<D>::prepareForLevel(Context& context, const ImagePointer<D>& fixed,
                                                 const MaskPointer<D>& mask, std::size_t level)
{
  fixed_ = fixed;
  voxelsInMask_.clear();
  if (mask && !onlyCountsMemory(context)) {
    // Reports an empty mask as empty, and a mask beside the image as such.
    boxInMask<D>(fixed->geometry, mask.get());
    voxelsInMask_ = voxelsIn<D>(context, fixed->geometry, *mask);
    if (voxelsInMask_.empty())
      failAs(ExitCode::unreadableInput, "mask", "no voxel of the fixed image has its centre in it",
             "a larger mask");
  }
  onCuda_.reset();
  listOnCuda_ = {};
  if (D < 4 && context.onCuda()) {
    onCuda_.emplace(context, fixed, nullptr, counts_[level], description().name);
    if (mask && onlyCountsMemory(context))
      listOnCuda_ = Buffer<std::size_t>(context, maxVoxelsIn<D>(fixed->geometry, *mask));
    else if (mask)
      listOnCuda_.fromHost(context, voxelsInMask_);
    voxelsInMask_ = {};
  }
  this->samples_ = onCuda_ ? onCuda_->samples() : emptySamples<D>(counts_[level]);
}

template <int D>
void RandomSparseMaskSampler<D>::draw(Context& context, const Draw& draw)
{
  if constexpr (D < 4)
    if (onCuda_)
      return onCuda_->drawVoxels(context, draw, std::as_const(listOnCuda_).span());
  PointList<D>& samples = std::get<PointList<D>>(this->samples_);
  const AffineMap<D> pointFromIndex = fixed_->geometry.pointFromIndex();
  const std::size_t choices = voxelsInMask_.empty() ? fixed_->voxels.size() : voxelsInMask_.size();
  forEachRange(context, samples.positions(), samplesAChunk, [&](std::size_t first, std::size_t last) {
    std::array<std::size_t, samplesAChunk> voxels;
    for (std::size_t sample = first; sample < last; ++sample) {
      const auto words = randomWords(draw, static_cast<std::uint32_t>(sample), 0);
      const std::size_t choice = choose(words[0], words[1], choices);
      voxels[sample - first] = voxelsInMask_.empty() ? choice : voxelsInMask_[choice];
      __builtin_prefetch(fixed_->voxels.data() + voxels[sample - first]);
    }
    for (std::size_t sample = first; sample < last; ++sample) {
      const std::size_t voxel = voxels[sample - first];
      setPoint<D>(samples, sample, pointFromIndex(indexOfVoxel<D>(fixed_->geometry.size, voxel)));
      samples.fixed[sample] = fixed_->voxels[voxel];
    }
  });
}

TESSERA_INSTANTIATE_CLASS_TO_4(RandomSparseMaskSampler);

}
