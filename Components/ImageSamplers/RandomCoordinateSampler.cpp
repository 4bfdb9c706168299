#include "Components/ImageSamplers/RandomCoordinateSampler.h"

#include "Components/ImageSamplers/RandomDraws.h"
#include "Components/Interpolators/SplineBatch.h"
#include "Core/Image/BSplinePrefilter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::uint32_t regionCounter = 0xffffffffu; // not a sample's

const Parameter<std::int64_t>& fixedImageBSplineInterpolationOrder()
{
  static const auto parameter = [] {
    auto p = integerParameter("FixedImageBSplineInterpolationOrder", 1, 0, Arity::perLevel, "",
                              "order of the spline that gives the fixed image between its voxels");
    p.maximum = 5;
    return p;
  }();
  return parameter;
}

const Parameter<bool>& useRandomSampleRegion()
{
  static const auto p =
      booleanParameter("UseRandomSampleRegion", false, Arity::perLevel, "draw from a box at a new random place each time");
  return p;
}

const Parameter<double>& sampleRegionSize()
{
  static const auto p = realParameter("SampleRegionSize", std::numeric_limits<double>::quiet_NaN(), Arity::perLevelAndDimension,
                                      "mm", "size of that box; a third of the image's longest side, or the side itself, if absent");
  return p;
}

/// Linear interpolation in double at a continuous index in [0, size - 1].
template <int D>
class LinearLookUp {
public:
  LinearLookUp() = default;
  /// Asks for the memory that value() reads.
  LinearLookUp(const Image<D>& image, const Vec<D>& index)
  {
    std::size_t offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const double base = std::floor(index[d]);
      const std::size_t voxel = static_cast<std::size_t>(base);
      fraction_[d] = index[d] - base;
      step_[d] = voxel + 1 < image.geometry.size[d] ? stride : 0;
      offset += stride * voxel;
      stride *= image.geometry.size[d];
    }
    corner_ = image.voxels.data() + offset;
    for (std::size_t row = 0; row < (std::size_t(1) << (D - 1)); ++row)
      __builtin_prefetch(rowStart(row));
  }

  float value() const
  {
    std::array<double, 1 << (D - 1)> rows;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const float* start = rowStart(row);
      rows[row] = start[0] + fraction_[0] * (static_cast<double>(start[step_[0]]) - start[0]);
    }
    for (int d = 1; d < D; ++d)
      for (std::size_t pair = 0; pair < rows.size() >> d; ++pair)
        rows[pair] = rows[2 * pair] + fraction_[d] * (rows[2 * pair + 1] - rows[2 * pair]);
    return static_cast<float>(rows[0]);
  }

private:
  const float* rowStart(std::size_t row) const
  {
    const float* start = corner_;
    for (int d = 1; d < D; ++d)
      start += (row >> (d - 1) & 1) * step_[d];
    return start;
  }

  const float* corner_ = nullptr;
  std::array<std::size_t, D> step_{};
  Vec<D> fraction_{};
};

template <int D>
float nearestVoxel(const Image<D>& image, const Vec<D>& index)
{
  std::size_t offset = 0, stride = 1;
  for (int d = 0; d < D; ++d) {
    offset += stride * static_cast<std::size_t>(std::floor(index[d] + 0.5));
    stride *= image.geometry.size[d];
  }
  return image.voxels[offset];
}

}

template <int D>
RandomCoordinateSampler<D>::RandomCoordinateSampler(const Parameters& parameters) : parameters_(parameters)
{
}

template <int D>
const ComponentDescription& RandomCoordinateSampler<D>::description()
{
  static const ComponentDescription description{
      "ImageSampler",
      "RandomCoordinate",
      {},
      "random points of the fixed image, between its voxels, inside the mask",
      {numberOfSpatialSamples(), fixedImageBSplineInterpolationOrder(), useRandomSampleRegion(), sampleRegionSize()}};
  return description;
}

template <int D>
void RandomCoordinateSampler<D>::prepareForLevel(Context& context, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                                                 std::size_t level)
{
  fixed_ = fixed;
  mask_ = mask;
  const VoxelBox<D> box = this->boxIn(fixed->geometry, mask);
  for (int d = 0; d < D; ++d) {
    box_.lowest[d] = static_cast<double>(box.first[d]);
    box_.highest[d] = static_cast<double>(box.first[d] + box.size[d] - 1);
  }
  regionIsOn_ = parameters_.get(useRandomSampleRegion(), level);
  regionSizeInVoxels_.reset();
  if (regionIsOn_) {
    regionSizeInVoxels_ = regionSizeMm(level, fixed->geometry);
    for (int d = 0; d < D; ++d)
      (*regionSizeInVoxels_)[d] /= fixed->geometry.spacingMm[d];
  }
  order_ = static_cast<int>(parameters_.get(fixedImageBSplineInterpolationOrder(), level));
  coefficients_.clear();
  if (order_ > 1)
    coefficients_ = bsplineCoefficients<D>(context, *fixed, order_);
  this->samples_ = emptySamples<D>(static_cast<std::size_t>(parameters_.get(numberOfSpatialSamples(), level)));
}

/// SampleRegionSize, or elastix's default: the longest side / 3, at most the side itself.
template <int D>
Vec<D> RandomCoordinateSampler<D>::regionSizeMm(std::size_t level, const ImageGeometry<D>& geometry) const
{
  Vec<D> sideMm, sizeMm;
  double longestMm = 0;
  for (int d = 0; d < D; ++d) {
    sideMm[d] = static_cast<double>(geometry.size[d] - 1) * geometry.spacingMm[d];
    longestMm = std::max(longestMm, sideMm[d]);
  }
  for (int d = 0; d < D; ++d) {
    sizeMm[d] = parameters_.get(sampleRegionSize(), level * D + d);
    if (std::isnan(sizeMm[d]))
      sizeMm[d] = std::min(sideMm[d], longestMm / 3);
    else if (!(sizeMm[d] > 0 && sizeMm[d] <= sideMm[d]))
      parameters_.fail(sampleRegionSize().name,
                       "the fixed image is " + std::to_string(sideMm[d]) + " mm long on axis " + std::to_string(d),
                       "Allowed: more than 0 and not more than that; a third is usual");
  }
  return sizeMm;
}

template <int D>
bool RandomCoordinateSampler<D>::setRandomRegion(bool on)
{
  const bool was = regionIsOn_;
  regionIsOn_ = on && regionSizeInVoxels_.has_value();
  return was;
}

template <int D>
typename RandomCoordinateSampler<D>::IndexBox RandomCoordinateSampler<D>::regionOf(const Draw& draw) const
{
  if (!regionIsOn_)
    return box_;
  const auto words = randomWords(draw, regionCounter, 0);
  IndexBox region;
  for (int d = 0; d < D; ++d) {
    const double size = (*regionSizeInVoxels_)[d];
    const double room = std::max(0.0, box_.highest[d] - size - box_.lowest[d]);
    region.lowest[d] = box_.lowest[d] + unitUniform(words[d]) * room;
    region.highest[d] = std::min(region.lowest[d] + size, static_cast<double>(fixed_->geometry.size[d] - 1));
  }
  return region;
}

template <int D>
void RandomCoordinateSampler<D>::draw(Context& context, const Draw& draw)
{
  PointList<D>& samples = std::get<PointList<D>>(this->samples_);
  const AffineMap<D> pointFromIndex = fixed_->geometry.pointFromIndex();
  const IndexBox region = regionOf(draw);
  AttemptLimit attempts(samples.positions(), description().name);
  forEachRange(context, samples.positions(), samplesAChunk, [&](std::size_t first, std::size_t last) {
    Indices indices;
    attempts.placeAll(draw, first, last, [&](std::size_t sample, const std::array<std::uint32_t, 4>& words) {
      Vec<D>& index = indices[sample - first];
      for (int d = 0; d < D; ++d)
        index[d] = region.lowest[d] + unitUniform(words[d]) * (region.highest[d] - region.lowest[d]);
      const Vec<D> pointMm = pointFromIndex(index);
      setPoint<D>(samples, sample, pointMm);
      return !mask_ || mask_->contains(pointMm);
    });
    lookUp(indices, first, last);
  });
}

template <int D>
void RandomCoordinateSampler<D>::lookUp(const Indices& indices, std::size_t first, std::size_t last)
{
  PointList<D>& samples = std::get<PointList<D>>(this->samples_);
  const std::size_t count = last - first;
  float* values = samples.fixed.data() + first;
  if (order_ == 0) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] = nearestVoxel<D>(*fixed_, indices[i]);
  } else if (order_ == 1) {
    std::array<LinearLookUp<D>, samplesAChunk> lookUps;
    for (std::size_t i = 0; i < count; ++i)
      lookUps[i] = LinearLookUp<D>(*fixed_, indices[i]);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = lookUps[i].value();
  } else {
    ListSamples<D> points;
    points.count = count;
    for (int d = 0; d < D; ++d)
      points.pointMm[d] = samples.mm[d].data() + first;
    std::array<std::uint8_t, samplesAChunk> inside;
    evaluateSpline<D>(SplineImage<D>(coefficients_.data(), fixed_->geometry), order_, points, values, nullptr, inside.data());
  }
}

template class RandomCoordinateSampler<2>;
template class RandomCoordinateSampler<3>;

}
