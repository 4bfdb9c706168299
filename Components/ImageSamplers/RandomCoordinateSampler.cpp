#include "Components/ImageSamplers/RandomCoordinateSampler.h"

#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::uint32_t regionCounter = 0xffffffffu; // no sample has this number

const Parameter<std::int64_t> fixedImageBSplineInterpolationOrder =
    integerParameter("FixedImageBSplineInterpolationOrder", 1, 0, Arity::perLevel, "",
                     "order of the spline that gives the fixed image between its voxels")
        .atMost(5);

const Parameter<bool> useRandomSampleRegion = booleanParameter(
    "UseRandomSampleRegion", false, Arity::perLevel, "draw from a box at a new random place each time");

const Parameter<double> sampleRegionSize = realParameter(
    "SampleRegionSize", std::numeric_limits<double>::quiet_NaN(), Arity::perLevelAndDimension, "mm",
    "size of the box of UseRandomSampleRegion; if absent a third of the "
    "image's longest side, or the side itself if that is shorter");

}

template <int D>
RandomCoordinateSampler<D>::RandomCoordinateSampler(const Parameters& parameters)
    : RandomCoordinateSampler(parameters, description().name)
{
}

template <int D>
RandomCoordinateSampler<D>::RandomCoordinateSampler(const Parameters& parameters, std::string name)
    : parameters_(parameters), name_(std::move(name))
{
}

template <int D>
const ComponentDescription& RandomCoordinateSampler<D>::description()
{
  static const ComponentDescription description{
      "ImageSampler",
      "RandomCoordinate",
      "random points of the fixed image, between its voxels, inside the mask",
      {numberOfSpatialSamples(), fixedImageBSplineInterpolationOrder, useRandomSampleRegion,
       sampleRegionSize}};
  return description;
}

template <int D>
void RandomCoordinateSampler<D>::prepareForLevel(Context& context, const ImagePointer<D>& fixed,
                                                 const MaskPointer<D>& mask, std::size_t level)
{
  fixed_ = fixed;
  mask_ = mask;
  const VoxelBox<D> box = this->boxIn(fixed->geometry, mask);
  for (int d = 0; d < D; ++d) {
    box_.lowest[d] = static_cast<double>(box.first[d]);
    box_.highest[d] = static_cast<double>(box.first[d] + box.size[d] - 1);
  }
  for (const SampledImage<D>& other : others_)
    keepInside(other);
  regionIsOn_ = parameters_.get(useRandomSampleRegion, level);
  regionSizeInVoxels_.reset();
  if (regionIsOn_) {
    regionSizeInVoxels_ = regionSizeMm(level, fixed->geometry);
    for (int d = 0; d < D; ++d)
      (*regionSizeInVoxels_)[d] /= fixed->geometry.spacingMm[d];
  }
  order_ = static_cast<int>(parameters_.get(fixedImageBSplineInterpolationOrder, level));
  coefficients_.clear();
  if (order_ > 1 || !others_.empty()) // the host draws or filters
    hostVoxels<D>(fixed);
  if (order_ > 1 && !onlyCountsMemory(context))
    coefficients_ = bsplineCoefficients<D>(context, *fixed, order_);
  const auto samples = static_cast<std::size_t>(parameters_.get(numberOfSpatialSamples(), level));
  onCuda_.reset();
  if (D < 4 && context.onCuda() && others_.empty())
    prepareOnCuda(context, samples);
  this->samples_ = onCuda_ ? onCuda_->samples() : emptySamples<D>(samples);
}

/// Makes the box smaller, so that it lies in the box of another image along the same axes.
template <int D>
void RandomCoordinateSampler<D>::keepInside(const SampledImage<D>& other)
{
  const ImageGeometry<D>& geometry = other.image->geometry;
  for (int row = 0; row < D; ++row)
    for (int column = 0; column < D; ++column)
      if (std::abs(geometry.direction[row][column] - fixed_->geometry.direction[row][column]) > 1e-6)
        parameters_.fail("ImageSampler", "\"" + name_ + "\" with fixed images whose directions differ",
                         "Allowed: fixed images along the same axes, or another sampler");
  const VoxelBox<D> box = boxInMask<D>(geometry, other.region, other.mask.get());
  Vec<D> first, last;
  for (int d = 0; d < D; ++d) {
    first[d] = static_cast<double>(box.first[d]);
    last[d] = static_cast<double>(box.first[d] + box.size[d] - 1);
  }
  const AffineMap<D> toPoint = geometry.pointFromIndex();
  const PointToIndex<D> toIndex = fixed_->geometry.pointToIndex();
  const Vec<D> lowest = toIndex(toPoint(first)), highest = toIndex(toPoint(last));
  for (int d = 0; d < D; ++d) {
    box_.lowest[d] = std::max(box_.lowest[d], lowest[d]);
    box_.highest[d] = std::min(box_.highest[d], highest[d]);
    if (box_.lowest[d] > box_.highest[d])
      parameters_.fail("ImageSampler", "\"" + name_ + "\" with fixed images that do not overlap",
                       "Allowed: fixed images, and masks, with a common region");
  }
}

template <int D>
void RandomCoordinateSampler<D>::prepareOnCuda(Context& context, std::size_t samples)
{
  onCuda_.emplace(context, fixed_, mask_, samples, name_);
  coefficientsOnCuda_ = {};
  if (order_ > 1)
    coefficientsOnCuda_ = Buffer<float>(context, fixed_->geometry.voxelCount());
  if (!coefficients_.empty())
    coefficientsOnCuda_.fromHost(context, coefficients_);
  coefficients_ = {};
  fixedOnCuda_ = {order_ > 1 ? coefficientsOnCuda_.span().data() : onCuda_->fixedVoxels(), fixed_->geometry,
                  order_};
}

/// SampleRegionSize, or elastix's default: a third of the longest side, but at most the side itself.
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
    sizeMm[d] = parameters_.get(sampleRegionSize, level * D + d);
    if (std::isnan(sizeMm[d]))
      sizeMm[d] = std::min(sideMm[d], longestMm / 3);
    else if (!(sizeMm[d] > 0 && sizeMm[d] <= sideMm[d]))
      parameters_.fail(sampleRegionSize.name,
                       "the fixed image of level " + std::to_string(level) + " is " + shortText(sideMm[d])
                           + " mm long on axis " + std::to_string(d) + ", between the centres of its "
                           + std::to_string(geometry.size[d]) + " voxels",
                       "Allowed: more than 0 and not more than that; a third is usual");
  }
  return sizeMm;
}

template <int D>
IndexBox<D> RandomCoordinateSampler<D>::regionOf(const Draw& draw) const
{
  if (!regionIsOn_)
    return box_;
  const auto words = randomWords(draw, regionCounter, 0);
  IndexBox<D> region;
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
  if constexpr (D < 4)
    if (onCuda_)
      return onCuda_->drawPoints(context, draw, regionOf(draw), fixedOnCuda_);
  PointList<D>& samples = std::get<PointList<D>>(this->samples_);
  const AffineMap<D> pointFromIndex = fixed_->geometry.pointFromIndex();
  const IndexBox<D> region = regionOf(draw);
  AttemptLimit attempts(samples.positions(), name_);
  forEachRange(context, samples.positions(), samplesAChunk, [&](std::size_t first, std::size_t last) {
    Indices indices;
    attempts.placeAll(draw, first, last, [&](std::size_t sample, const std::array<std::uint32_t, 4>& words) {
      Vec<D>& index = indices[sample - first];
      index = indexIn<D>(region, words);
      const Vec<D> pointMm = pointFromIndex(index);
      setPoint<D>(samples, sample, pointMm);
      return (!mask_ || mask_->contains(pointMm))
             && std::ranges::all_of(others_, [&](const SampledImage<D>& other) {
                  return !other.mask || other.mask->contains(pointMm);
                });
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
      values[i] = nearestVoxel<D>(fixed_->voxels.data(), fixed_->geometry.size, indices[i]);
  } else if (order_ == 1) {
    std::array<LinearLookUp<D>, samplesAChunk> lookUps;
    for (std::size_t i = 0; i < count; ++i) {
      lookUps[i] = LinearLookUp<D>(fixed_->voxels.data(), fixed_->geometry.size, indices[i]);
      lookUps[i].prefetch();
    }
    for (std::size_t i = 0; i < count; ++i)
      values[i] = lookUps[i].value();
  } else {
    ListSamples<D> points;
    points.count = count;
    for (int d = 0; d < D; ++d)
      points.pointMm[d] = samples.mm[d].data() + first;
    std::array<std::uint8_t, samplesAChunk> inside;
    evaluateSpline<D>(SplineImage<D>(coefficients_.data(), fixed_->geometry), order_, points, values, nullptr,
                      inside.data());
  }
}

TESSERA_INSTANTIATE_CLASS_TO_4(RandomCoordinateSampler);

}
