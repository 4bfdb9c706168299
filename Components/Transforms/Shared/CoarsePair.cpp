#include "Components/Transforms/Shared/CoarsePair.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/IntensityMoments.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/Shrink.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int binCount = 24, quickBinCount = 12;
constexpr double leastOverlap = 0.5;    // of the smaller image
constexpr double leastOfFitting = 0.75; // of what can lie in the other one, where that is less
constexpr double latticeStep = 0.25;    // of the edge of a cube of the smaller image's volume
constexpr std::size_t mostPlaces = 2000;
template <int D>
constexpr std::size_t windowEdge = D == 3 ? 4 : 5; // in points
constexpr double windowNoise = 0.5;                // variance, in bins: the points are rounded to bins

/// Calls take(point, voxel) for all voxels of a grid.
template <int D, class Take>
void forEachPoint(const ImageGeometry<D>& geometry, Take&& take)
{
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  Vec<D> index{};
  for (std::size_t voxel = 0; voxel < geometry.voxelCount(); ++voxel) {
    take(pointFromIndex(index), voxel);
    for (int d = 0; d < D && ++index[d] == static_cast<double>(geometry.size[d]) && d + 1 < D; ++d)
      index[d] = 0;
  }
}

/// Calls take(point, voxel) for all voxels that are numbers.
template <int D, class Take>
void forEachNumber(const Image<D>& image, Take&& take)
{
  forEachPoint<D>(image.geometry, [&](const Vec<D>& pointMm, std::size_t voxel) {
    if (std::isfinite(image.voxels[voxel]))
      take(pointMm, voxel);
  });
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
    failAs(ExitCode::registrationFailed, "(AutomaticTransformInitializationMethod \"Search\")",
           "the " + side + " image has only one intensity (in its mask)",
           "images with contrast, or the method \"GeometricalCenter\"");
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

/// The largest share of the first box that can lie in the second one, if their axes are parallel.
template <int D>
double shareThatFits(const ImageGeometry<D>& box, const ImageGeometry<D>& other)
{
  const auto edgesMm = [](const ImageGeometry<D>& geometry) {
    Vec<D> edges;
    for (int d = 0; d < D; ++d)
      edges[d] = geometry.spacingMm[d] * static_cast<double>(geometry.size[d]);
    std::ranges::sort(edges);
    return edges;
  };
  const Vec<D> edges = edgesMm(box), others = edgesMm(other);
  double share = 1;
  for (int d = 0; d < D; ++d)
    share *= std::min(1.0, others[d] / edges[d]);
  return share;
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

double squaredCorrelation(const IntensityMoments& pairs)
{
  const double covariance = pairs.covariance(), noise = windowNoise * pairs.count;
  return covariance * covariance / ((pairs.varianceOfFixed() + noise) * (pairs.varianceOfMoving() + noise));
}

}

template <int D>
CoarsePair<D>::CoarsePair(Context& context, const TransformStart<D>& start, std::size_t wantedPoints)
    : pointsAreMoving_(volumeMm(start.moving->geometry) < volumeMm(start.fixed->geometry)),
      centerMm_(start.fixed->geometry.centerMm())
{
  const ImageGeometry<D>& smaller = pointsAreMoving_ ? start.moving->geometry : start.fixed->geometry;
  const double spacingMm = std::pow(volumeMm(smaller) / static_cast<double>(wantedPoints), 1.0 / D);
  // Inside one mask alone an object has no outline, and wrong places seem to fit as well as the right one.
  const bool bothMasks = start.fixedMask && start.movingMask;
  Image<D> fixed =
      blockMeans<D>(context, *start.fixed, bothMasks ? start.fixedMask.get() : nullptr, spacingMm);
  Image<D> moving =
      blockMeans<D>(context, *start.moving, bothMasks ? start.movingMask.get() : nullptr, spacingMm);
  measureInBins<D>(fixed, "fixed");
  measureInBins<D>(moving, "moving");
  ofFixed_ = Middles(fixed);
  ofMoving_ = Middles(moving);
  const Image<D>& points = pointsAreMoving_ ? moving : fixed;
  const Vec<D> middleMm = points.geometry.centerMm();
  forEachNumber<D>(points, [&](const Vec<D>& pointMm, std::size_t voxel) {
    for (int d = 0; d < 3; ++d)
      pointsMm_[d].push_back(d < D ? static_cast<float>(pointMm[d] - middleMm[d]) : 0);
    bins_.push_back(static_cast<int>(std::lround(points.voxels[voxel])));
    windows_.push_back(0);
    windowCount_ = 1;
    for (int d = 0; d < D; ++d) {
      const std::size_t size = points.geometry.size[d];
      windows_.back() += voxel % size / windowEdge<D> * windowCount_;
      windowCount_ *= (size - 1) / windowEdge<D> + 1;
      voxel /= size;
    }
  });
  smaller_ = points.geometry;
  other_ = std::move(pointsAreMoving_ ? fixed : moving);
  indexFromPoint_ = other_.geometry.indexFromPoint();
  const double pointMm = volumeMm(smaller_) / static_cast<double>(smaller_.voxelCount()),
               voxelMm = volumeMm(other_.geometry) / static_cast<double>(other_.geometry.voxelCount());
  const double otherCount = (pointsAreMoving_ ? ofFixed_ : ofMoving_).count;
  const double fits = shareThatFits<D>(smaller_, other_.geometry);
  const double most = std::min(static_cast<double>(bins_.size()), otherCount * voxelMm / pointMm);
  leastPoints_ = std::min(leastOverlap, leastOfFitting * fits) * most;
  mostPoints_ = fits * most;
  for (int d = 0; d < D; ++d)
    extentMm_ = std::max(extentMm_, smaller.spacingMm[d] * static_cast<double>(smaller.size[d]));
  prepareQuickFit();
}

template <int D>
void CoarsePair<D>::prepareQuickFit()
{
  const auto quickBin = [](long bin) { return static_cast<int>(bin * quickBinCount / binCount); };
  for (const int bin : bins_)
    quickRows_.push_back(quickBin(bin) * (quickBinCount + 1));
  for (const float bin : other_.voxels)
    quickBins_.push_back(
        static_cast<std::uint8_t>(std::isfinite(bin) ? quickBin(std::lround(bin)) : quickBinCount));
  quickBins_.push_back(quickBinCount);
  for (std::size_t n = 0; n <= bins_.size(); ++n)
    entropyTerms_.push_back(n > 0 ? static_cast<double>(n) * std::log(static_cast<double>(n)) : 0);
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

/// How many steps along each axis of the other image lead from its middle to a step beyond where the turned
/// box of the smaller image leaves it.
template <int D>
Size<D> CoarsePair<D>::stepsOfLattice(const Matrix<D>& rotation, double stepMm) const
{
  const Matrix<D> between =
      multiply<D>(transpose<D>(other_.geometry.direction),
                  multiply<D>(pointsAreMoving_ ? transpose<D>(rotation) : rotation, smaller_.direction));
  Size<D> steps;
  for (int d = 0; d < D; ++d) {
    double roomMm = other_.geometry.spacingMm[d] * static_cast<double>(other_.geometry.size[d]) / 2;
    for (int j = 0; j < D; ++j)
      roomMm -= std::abs(between[d][j]) * smaller_.spacingMm[j] * static_cast<double>(smaller_.size[j]) / 2;
    steps[d] = static_cast<std::size_t>(std::max(0.0, roomMm) / stepMm) + 1;
  }
  return steps;
}

template <int D>
std::vector<Vec<D>> CoarsePair<D>::placements(const Matrix<D>& rotation) const
{
  double stepMm = latticeStep * std::pow(volumeMm(smaller_), 1.0 / D);
  ImageGeometry<D> lattice;
  for (;; stepMm *= 1.1) {
    lattice.size = stepsOfLattice(rotation, stepMm);
    for (std::size_t& size : lattice.size)
      size = 2 * size + 1;
    if (lattice.voxelCount() <= mostPlaces)
      break;
  }
  lattice.spacingMm.fill(stepMm);
  lattice.direction = other_.geometry.direction;
  const Vec<D> latticeCenterMm = lattice.centerMm(), translationMm = translations(rotation).front();
  std::vector<Vec<D>> places;
  forEachPoint<D>(lattice, [&](const Vec<D>& pointMm, std::size_t) {
    Vec<D> shiftMm;
    for (int d = 0; d < D; ++d)
      shiftMm[d] = pointMm[d] - latticeCenterMm[d];
    if (pointsAreMoving_)
      shiftMm = apply<D>(rotation, shiftMm);
    Vec<D>& place = places.emplace_back(translationMm);
    for (int d = 0; d < D; ++d)
      place[d] += pointsAreMoving_ ? -shiftMm[d] : shiftMm[d];
  });
  return places;
}

/// The map from pointsMm_.
template <int D>
MapToIndex CoarsePair<D>::toIndex(const Matrix<D>& rotation, const Vec<D>& translationMm) const
{
  AffineMap<D> map{rotation, turned(rotation, Vec<D>{})};
  for (int d = 0; d < D; ++d)
    map.offset[d] += translationMm[d];
  map = compose<D>(indexFromPoint_, pointsAreMoving_ ? inverse<D>(map) : map);
  const Vec<D> offset = map(smaller_.centerMm());
  MapToIndex result;
  for (int d = 0; d < D; ++d) {
    for (int j = 0; j < D; ++j)
      result.matrix[d][j] = static_cast<float>(map.matrix[d][j]);
    result.offset[d] = static_cast<float>(offset[d]);
    result.size[d] = static_cast<int>(other_.geometry.size[d]);
  }
  return result;
}

template <int D>
CoarseFit CoarsePair<D>::fitOf(double information, double points) const
{
  return {information, (information - 1) * std::sqrt(std::sqrt(std::min(1.0, points / mostPoints_)))};
}

template <int D>
CoarseFit CoarsePair<D>::fit(const Matrix<D>& rotation, const Vec<D>& translationMm) const
{
  const MapToIndex map = toIndex(rotation, translationMm);
  std::array<double, binCount * binCount> counts{};
  std::vector<IntensityMoments> windows(windowCount_); // the points are in the place of the fixed image
  double valid = 0;
  int cells[cellTile];
  float fractions[3][cellTile];
  for (std::size_t first = 0; first < bins_.size(); first += cellTile) {
    const std::size_t count = std::min(cellTile, bins_.size() - first);
    findCells(map, pointsFrom(first), count, cells, fractions);
    for (std::size_t i = 0; i < count; ++i) {
      if (cells[i] < 0)
        continue;
      const float bin = interpolated<D>(other_.voxels.data() + cells[i], map, fractions, i);
      if (!std::isfinite(bin))
        continue;
      const int low = std::min(static_cast<int>(bin), binCount - 2);
      double* const row = counts.data() + bins_[first + i] * binCount;
      row[low] += 1 - (bin - low);
      row[low + 1] += bin - low;
      valid += 1;
      windows[windows_[first + i]].add(bins_[first + i], bin);
    }
  }
  if (valid < leastPoints_)
    return {};
  double meanSquaredCorrelation = 0;
  for (const IntensityMoments& window : windows)
    if (window.count > 0)
      meanSquaredCorrelation += window.count / valid * squaredCorrelation(window);
  CoarseFit result = fitOf(normalizedInformation(counts, valid), valid);
  result.gain *= meanSquaredCorrelation * std::sqrt(std::min(1.0, valid / mostPoints_));
  return result;
}

template <int D>
CoarseFit CoarsePair<D>::quickFit(const Matrix<D>& rotation, const Vec<D>& translationMm) const
{
  const MapToIndex map = toIndex(rotation, translationMm);
  int places[cellTile], counts[quickBinCount * (quickBinCount + 1)] = {};
  for (std::size_t first = 0; first < bins_.size(); first += cellTile) {
    const std::size_t count = std::min(cellTile, bins_.size() - first);
    findNearestVoxels(map, pointsFrom(first), count, static_cast<int>(quickBins_.size()) - 1, places);
    for (std::size_t i = 0; i < count; ++i)
      ++counts[quickRows_[first + i] + quickBins_[places[i]]];
  }
  int ofPoints[quickBinCount] = {}, ofOther[quickBinCount] = {}, valid = 0;
  double joint = 0, marginal = 0;
  for (int p = 0; p < quickBinCount; ++p)
    for (int o = 0; o < quickBinCount; ++o) {
      const int count = counts[p * (quickBinCount + 1) + o];
      joint += entropyTerms_[count];
      ofPoints[p] += count;
      ofOther[o] += count;
      valid += count;
    }
  if (valid < leastPoints_)
    return {};
  for (int bin = 0; bin < quickBinCount; ++bin)
    marginal += entropyTerms_[ofPoints[bin]] + entropyTerms_[ofOther[bin]];
  const double jointEntropy = entropyTerms_[valid] - joint;
  return fitOf(jointEntropy > 0 ? (2 * entropyTerms_[valid] - marginal) / jointEntropy : 1, valid);
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

TESSERA_INSTANTIATE_CLASS(CoarsePair);

}
