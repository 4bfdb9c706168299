#include "Components/Transforms/Shared/CoarsePair.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/Shrink.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr int binCount = 24;
constexpr double leastOverlap = 0.5; // of the smaller image

/// Calls take(point, voxel) for all voxels that are numbers.
template <int D, class Take>
void forEachNumber(const Image<D>& image, Take&& take)
{
  const AffineMap<D> pointFromIndex = image.geometry.pointFromIndex();
  Vec<D> index{};
  for (std::size_t voxel = 0; voxel < image.voxels.size(); ++voxel) {
    if (std::isfinite(image.voxels[voxel]))
      take(pointFromIndex(index), voxel);
    for (int d = 0; d < D && ++index[d] == static_cast<double>(image.geometry.size[d]) && d + 1 < D; ++d)
      index[d] = 0;
  }
}

/// 1 at voxels in the mask, and 0 at others.
template <int D>
Image<D> insideOf(const Mask<D>& mask, const ImageGeometry<D>& geometry)
{
  Image<D> inside{geometry, std::vector<float>(geometry.voxelCount())};
  forEachNumber<D>(inside, [&](const Vec<D>& pointMm, std::size_t voxel) {
    inside.voxels[voxel] = mask.contains(pointMm) ? 1.0f : 0.0f;
  });
  return inside;
}

/// The means of blocks of voxels, as cubic as the spacing allows, of about `spacingMm` a side; of those
/// voxels of a block that are in the mask. NaN where these are less than a quarter, or one of them is not
/// finite.
template <int D>
Image<D> blockMeans(Context& context, const Image<D>& image, const Mask<D>* mask, double spacingMm)
{
  Size<D> factors;
  std::array<AxisTaps, D> taps;
  for (int d = 0; d < D; ++d) {
    const double ratio = std::round(spacingMm / image.geometry.spacingMm[d]);
    factors[d] =
        static_cast<std::size_t>(std::clamp(ratio, 1.0, static_cast<double>(image.geometry.size[d])));
    taps[d].weights.assign(factors[d], 1.0 / static_cast<double>(factors[d]));
    taps[d].step = factors[d];
    taps[d].count = image.geometry.size[d] / factors[d];
  }
  const ImageGeometry<D> geometry = rescaledGeometry<D>(image.geometry, factors);
  if (!mask)
    return applyTaps<D>(context, image, taps, geometry);
  const Image<D> inside = insideOf<D>(*mask, image.geometry);
  Image<D> masked = image;
  for (std::size_t voxel = 0; voxel < masked.voxels.size(); ++voxel)
    masked.voxels[voxel] = inside.voxels[voxel] > 0 ? image.voxels[voxel] : 0;
  Image<D> means = applyTaps<D>(context, masked, taps, geometry);
  const Image<D> shares = applyTaps<D>(context, inside, taps, geometry);
  for (std::size_t block = 0; block < means.voxels.size(); ++block)
    means.voxels[block] = shares.voxels[block] < 0.25f ? std::numeric_limits<float>::quiet_NaN()
                                                       : means.voxels[block] / shares.voxels[block];
  return means;
}

/// Replaces intensities by their places among the bins, from 0 at the hundredth part of the numbers from
/// below to binCount - 1 at that from above.
template <int D>
void measureInBins(Image<D>& image, const std::string& side)
{
  std::vector<float> sorted;
  forEachNumber<D>(image, [&](const Vec<D>&, std::size_t voxel) { sorted.push_back(image.voxels[voxel]); });
  std::ranges::sort(sorted);
  const std::size_t cut = sorted.size() / 100;
  double low = sorted.empty() ? 0 : sorted[cut], high = sorted.empty() ? 0 : sorted[sorted.size() - 1 - cut];
  if (low == high && !sorted.empty()) {
    low = sorted.front();
    high = sorted.back();
  }
  if (low == high)
    throw Error(
        ExitCode::registrationFailed,
        "(AutomaticTransformInitializationMethod \"Search\"): the " + side
            + " image has only one intensity (in its mask). Allowed: images with contrast, or the method "
              "\"GeometricalCenter\".");
  for (float& value : image.voxels) // those that are no numbers stay so
    value = static_cast<float>(std::clamp((value - low) / (high - low), 0.0, 1.0) * (binCount - 1));
}

template <int D>
double volumeMm(const ImageGeometry<D>& geometry)
{
  double volume = 1;
  for (int d = 0; d < D; ++d)
    volume *= geometry.spacingMm[d] * static_cast<double>(geometry.size[d]);
  return volume;
}

/// (H(F) + H(M)) / H(F, M)
double normalizedInformation(const std::array<double, binCount * binCount>& counts, double total)
{
  std::array<double, binCount> fixed{}, moving{};
  const auto term = [&](double count) { return count > 0 ? -count / total * std::log(count / total) : 0; };
  double joint = 0, marginal = 0;
  for (int f = 0; f < binCount; ++f)
    for (int m = 0; m < binCount; ++m) {
      const double count = counts[f * binCount + m];
      joint += term(count);
      fixed[f] += count;
      moving[m] += count;
    }
  for (int bin = 0; bin < binCount; ++bin)
    marginal += term(fixed[bin]) + term(moving[bin]);
  return joint > 0 ? marginal / joint : 1;
}

}

template <int D>
CoarsePair<D>::CoarsePair(Context& context, const TransformStart<D>& start, std::size_t wantedPoints)
{
  const double spacingMm =
      std::pow(volumeMm(start.fixed->geometry) / static_cast<double>(wantedPoints), 1.0 / D);
  Image<D> fixed = blockMeans<D>(context, *start.fixed, start.fixedMask.get(), spacingMm);
  moving_ = blockMeans<D>(context, *start.moving, start.movingMask.get(), spacingMm);
  measureInBins<D>(fixed, "fixed");
  measureInBins<D>(moving_, "moving");
  centerMm_ = start.fixed->geometry.centerMm();
  forEachNumber<D>(fixed, [&](const Vec<D>& pointMm, std::size_t voxel) {
    pointsMm_.push_back(pointMm);
    bins_.push_back(static_cast<int>(std::lround(fixed.voxels[voxel])));
  });
  ofFixed_ = Middles(fixed);
  ofMoving_ = Middles(moving_);
  indexFromPoint_ = moving_.geometry.indexFromPoint();
  const double pointMm = volumeMm(fixed.geometry) / static_cast<double>(fixed.geometry.voxelCount()),
               voxelMm = volumeMm(moving_.geometry) / static_cast<double>(moving_.geometry.voxelCount());
  leastPoints_ =
      leastOverlap * std::min(static_cast<double>(pointsMm_.size()), ofMoving_.count * voxelMm / pointMm);
  for (int d = 0; d < D; ++d)
    extentMm_ =
        std::max(extentMm_, fixed.geometry.spacingMm[d] * static_cast<double>(fixed.geometry.size[d]));
}

template <int D>
std::array<Vec<D>, 2> CoarsePair<D>::translations(const Matrix<D>& rotation) const
{
  const auto toMeet = [&](const Vec<D>& fixedMm, const Vec<D>& movingMm) {
    const Vec<D> turnedMm = turned(rotation, fixedMm);
    Vec<D> translationMm;
    for (int d = 0; d < D; ++d)
      translationMm[d] = movingMm[d] - turnedMm[d];
    return translationMm;
  };
  return {toMeet(ofFixed_.geometryMm, ofMoving_.geometryMm), toMeet(ofFixed_.gravityMm, ofMoving_.gravityMm)};
}

template <int D>
double CoarsePair<D>::score(const Matrix<D>& rotation, const Vec<D>& translationMm) const
{
  AffineMap<D> map{rotation, turned(rotation, Vec<D>{})};
  for (int d = 0; d < D; ++d)
    map.offset[d] += translationMm[d];
  const AffineMap<D> toIndex = compose<D>(indexFromPoint_, map);
  std::array<double, binCount * binCount> counts{};
  double valid = 0;
  for (std::size_t i = 0; i < pointsMm_.size(); ++i) {
    double bin;
    if (!binAt(toIndex(pointsMm_[i]), bin))
      continue;
    const int low = std::min(static_cast<int>(bin), binCount - 2);
    double* const row = counts.data() + bins_[i] * binCount;
    row[low] += 1 - (bin - low);
    row[low + 1] += bin - low;
    valid += 1;
  }
  return valid < leastPoints_ ? -std::numeric_limits<double>::infinity()
                              : normalizedInformation(counts, valid);
}

template <int D>
CoarsePair<D>::Middles::Middles(const Image<D>& image)
{
  double weight = 0;
  forEachNumber<D>(image, [&](const Vec<D>& pointMm, std::size_t voxel) {
    count += 1;
    weight += image.voxels[voxel];
    for (int d = 0; d < D; ++d) {
      geometryMm[d] += pointMm[d];
      gravityMm[d] += image.voxels[voxel] * pointMm[d];
    }
  });
  for (int d = 0; d < D; ++d) {
    geometryMm[d] /= count;
    gravityMm[d] = weight > 0 ? gravityMm[d] / weight : geometryMm[d];
  }
}

/// R (x - c) + c
template <int D>
Vec<D> CoarsePair<D>::turned(const Matrix<D>& rotation, Vec<D> pointMm) const
{
  for (int d = 0; d < D; ++d)
    pointMm[d] -= centerMm_[d];
  return AffineMap<D>{rotation, centerMm_}(pointMm);
}

/// Linear interpolation of the moving image; false outside its voxels' centres, and where one is no number.
template <int D>
bool CoarsePair<D>::binAt(const Vec<D>& index, double& bin) const
{
  std::size_t first = 0, stride = 1, strides[D];
  double fraction[D];
  for (int d = 0; d < D; ++d) {
    const double last = static_cast<double>(moving_.geometry.size[d]) - 1;
    const double border = last > 0 ? 0 : 0.5; // a single voxel is as thick as it is
    if (!(index[d] >= -border && index[d] <= last + border))
      return false;
    const double at = std::max(index[d], 0.0);
    const auto cell = static_cast<std::size_t>(std::min(at, std::max(last - 1, 0.0)));
    fraction[d] = at - static_cast<double>(cell);
    first += stride * cell;
    strides[d] = last > 0 ? stride : 0;
    stride *= moving_.geometry.size[d];
  }
  bin = 0;
  for (int corner = 0; corner < 1 << D; ++corner) {
    double weight = 1;
    std::size_t voxel = first;
    for (int d = 0; d < D; ++d) {
      const bool isUpper = (corner >> d) & 1;
      weight *= isUpper ? fraction[d] : 1 - fraction[d];
      voxel += isUpper ? strides[d] : 0;
    }
    bin += weight * moving_.voxels[voxel];
  }
  return std::isfinite(bin);
}

TESSERA_INSTANTIATE_CLASS(CoarsePair);

}
