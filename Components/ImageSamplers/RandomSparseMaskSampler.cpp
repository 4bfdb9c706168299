#include "Components/ImageSamplers/RandomSparseMaskSampler.h"

#include "Components/ImageSamplers/Shared/RandomDraws.h"

#include <algorithm>

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

/// About how many voxels of a grid lie in a mask, rather more; all if that is not known yet.
template <int D>
double mostVoxelsIn(const SampledExtent<D>& sampled)
{
  const ImageGeometry<D>& geometry = sampled.fixed->geometry;
  const auto all = static_cast<double>(geometry.voxelCount());
  if (!sampled.mask)
    return sampled.masked ? all : 0;
  const std::vector<std::uint8_t>& voxels = sampled.mask->voxels;
  auto inside = static_cast<double>(voxels.size() - static_cast<std::size_t>(std::ranges::count(voxels, 0)));
  for (int d = 0; d < D; ++d)
    inside *= sampled.mask->geometry.spacingMm[d] / geometry.spacingMm[d];
  constexpr double borders = 1.02;
  return std::min(all, sampled.mask->geometry == geometry
                           ? inside
                           : borders * inside + static_cast<double>(geometry.size[0]));
}
}

template <int D>
RandomSparseMaskSampler<D>::RandomSparseMaskSampler(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    counts_.push_back(static_cast<std::size_t>(parameters.get(numberOfSpatialSamples(), level)));
}

template <int D>
const ComponentDescription& RandomSparseMaskSampler<D>::description()
{
  static const ComponentDescription description{
      "ImageSampler",
      "RandomSparseMask",
      {},
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
  if (mask) {
    boxInMask<D>(fixed->geometry, mask.get()); // tells an empty mask from one beside the image
    voxelsInMask_ = voxelsIn<D>(context, fixed->geometry, *mask);
    if (voxelsInMask_.empty())
      throw Error(ExitCode::unreadableInput,
                  "mask: no voxel of the fixed image has its centre in it. Allowed: a larger mask.");
  }
  onCuda_.reset();
  listOnCuda_ = {};
  if (context.onCuda()) {
    onCuda_.emplace(context, fixed, nullptr, counts_[level], description().name);
    if (mask)
      listOnCuda_.fromHost(context, voxelsInMask_);
    voxelsInMask_ = {};
  }
  this->samples_ = onCuda_ ? onCuda_->samples() : emptySamples<D>(counts_[level]);
}

template <int D>
SampleExtent<D> RandomSparseMaskSampler<D>::extentOfLevel(const SampledExtent<D>& sampled,
                                                          std::size_t level) const
{
  return {counts_[level],
          {},
          DrawsOnCuda<D>::deviceBytes(counts_[level]) + mostVoxelsIn(sampled) * sizeof(std::size_t)};
}

template <int D>
void RandomSparseMaskSampler<D>::endLevel()
{
  this->samples_ = PointList<D>{};
  onCuda_.reset();
  listOnCuda_ = {};
}

template <int D>
void RandomSparseMaskSampler<D>::draw(Context& context, const Draw& draw)
{
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

template class RandomSparseMaskSampler<2>;
template class RandomSparseMaskSampler<3>;

}
