#include "Core/Runs/RunQuality.h"

#include "Core/Compute/Log.h"
#include "Core/Compute/Math/IntensityMoments.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformParts.h"
#include "Core/Runs/Resampling/HostInterpolator.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t wantedPoints = 100'000;

struct PointSums {
  double displacementMm = 0;
  IntensityMoments before, after; // of the points that map into the moving image
};

/// Points of a grid over an image, and its intensities there.
template <int D>
struct GridPoints {
  std::vector<Vec<D>> mm;
  std::vector<float> intensities;
  std::vector<std::size_t> firstOfBatch; // and the number of points as the last one
};

/// The points at positions from `first` to `last` of a grid, those in the mask.
template <int D>
GridPoints<D> gridPoints(const Context& host, const SampleSet<D>& set, std::size_t first, std::size_t last,
                         const ImageAtPoints<D>& voxels)
{
  std::vector<PointBatch<D>> batches((last - first + batchCapacity - 1) / batchCapacity);
  forEachRange(host, last - first, batchCapacity, [&](std::size_t from, std::size_t to) {
    fillBatch<D>(set, first + from, first + to, batches[from / batchCapacity], nullptr);
  });
  GridPoints<D> grid;
  grid.mm.reserve(last - first);
  for (const PointBatch<D>& batch : batches) {
    grid.firstOfBatch.push_back(grid.mm.size());
    for (std::size_t i = 0; i < batch.count; ++i)
      grid.mm.push_back(batch.point(i));
  }
  grid.firstOfBatch.push_back(grid.mm.size());
  grid.intensities = voxels.at(grid.mm).values;
  return grid;
}

/// The linear transforms that a chain begins with; the chain itself if there are none. Free deformation after
/// them makes any two images alike.
template <int D>
const TransformChain<D>& linearPart(const TransformChain<D>& chain)
{
  const TransformChain<D>* part = &chain;
  while (part && !isLinearChain<D>(part))
    part = part->initial.get();
  return part ? *part : chain;
}

template <int D>
std::optional<RunQuality::Distances> distances(const PointPairs<D>& pairs, const TransformChain<D>* before,
                                               const TransformChain<D>& result)
{
  const std::size_t count = pairs.fixedMm.size();
  if (count == 0 || pairs.movingMm.size() != count)
    return {};
  RunQuality::Distances found{count, 0, 0, 0};
  const auto startMm = before ? mappedAll<D>({}, *before, pairs.fixedMm) : pairs.fixedMm,
             endMm = mappedAll<D>({}, result, pairs.fixedMm);
  for (std::size_t i = 0; i < count; ++i) {
    const double mm = distanceBetween<D>(endMm[i], pairs.movingMm[i]);
    found.beforeMm += distanceBetween<D>(startMm[i], pairs.movingMm[i]);
    found.meanMm += mm;
    found.largestMm = std::max(found.largestMm, mm);
  }
  found.beforeMm /= static_cast<double>(count);
  found.meanMm /= static_cast<double>(count);
  return found;
}

/// Rows along the first axis, spread over the image, with about 100,000 voxels in all.
template <int D>
std::vector<float> someRows(const ImagePointer<D>& image, const ImageAtPoints<D>& voxels)
{
  const std::size_t width = image->geometry.size[0], count = image->geometry.voxelCount(),
                    step = width * std::max<std::size_t>(1, count / wantedPoints);
  std::vector<float> rows;
  std::vector<Vec<D>> pointsMm;
  const AffineMap<D> pointFromIndex = image->geometry.pointFromIndex();
  for (std::size_t row = 0; row < count; row += step)
    if (!voxels.onCuda())
      rows.insert(rows.end(), &image->voxels[row], &image->voxels[row] + width);
    else
      for (std::size_t x = 0; x < width; ++x)
        pointsMm.push_back(pointFromIndex(indexOfVoxel<D>(image->geometry.size, row + x)));
  return voxels.onCuda() ? voxels.at(pointsMm).values : rows;
}

/// Whether an image has few values in patches: three of four voxels without its commonest value equal the
/// next one along the first axis. Of images of tissue at most one of seven do.
template <int D>
bool isInPatches(const ImagePointer<D>& image, const ImageAtPoints<D>& voxels)
{
  constexpr std::size_t mostValues = 256;
  const std::vector<float> rows = someRows<D>(image, voxels);
  std::map<float, std::size_t> counts;
  for (auto value = rows.begin(); value != rows.end() && counts.size() <= mostValues; ++value)
    ++counts[*value];
  if (counts.size() > mostValues)
    return false;
  const float commonest =
      std::ranges::max_element(counts, {}, &std::pair<const float, std::size_t>::second)->first;
  std::size_t others = 0, equal = 0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    const bool counted = rows[i] != commonest && (i + 1) % image->geometry.size[0] != 0;
    others += counted;
    equal += counted && rows[i] == rows[i + 1];
  }
  return others > 0 && 4 * equal >= 3 * others;
}

/// Counts and sums of a label over the voxels of the fixed image.
struct LabelSums {
  std::size_t fixed = 0, warped = 0, both = 0, folded = 0, warpedBefore = 0, bothBefore = 0;
  double logJacobian = 0;

  void add(const LabelSums& other)
  {
    fixed += other.fixed;
    warped += other.warped;
    both += other.both;
    folded += other.folded;
    warpedBefore += other.warpedBefore;
    bothBefore += other.bothBefore;
    logJacobian += other.logJacobian;
  }
};

/// The determinants of dT/dx at a batch of points.
template <int D>
std::array<double, batchCapacity> determinantsAt(const TransformChain<D>& chain, const PointBatch<D>& points)
{
  std::array<double, D * D * batchCapacity> jacobian;
  std::array<double, batchCapacity> determinants;
  Context host{Device{}, 1};
  chainSpatialDerivatives<D>(host, chain, points.list(), jacobian.data(), nullptr);
  for (std::size_t i = 0; i < points.count; ++i)
    determinants[i] = determinant(jacobianAt<D>(jacobian.data(), points.count, i));
  return determinants;
}

}

std::vector<std::string> RunQuality::lines() const
{
  const auto of = [](const std::optional<double>& value) { return value ? decimals(*value, 4) : "none"; };
  std::vector<std::string> text{"Overlap: " + decimals(100 * overlap, 1)
                                    + " % of the fixed image (and mask) map into the moving image, "
                                    + decimals(100 * overlapBefore, 1) + " % before.",
                                "Correlation of the intensities there: " + of(correlation) + ", before "
                                    + of(correlationBefore) + ".",
                                "Displacement: mean " + decimals(meanDisplacementMm, 3) + " mm, largest "
                                    + decimals(largestDisplacementMm, 3) + " mm."};
  if (points)
    text.push_back("Distance of " + std::to_string(points->count) + " corresponding points: mean "
                   + decimals(points->meanMm, 3) + " mm, largest " + decimals(points->largestMm, 3)
                   + " mm, mean before " + decimals(points->beforeMm, 3) + " mm.");
  if (overTime)
    text.push_back("Standard deviation over time: " + decimals(overTime->deviationPercent, 2)
                   + " % of the mean, before " + decimals(overTime->deviationPercentBefore, 2)
                   + " %. Change from one time to the next (DVARS): " + decimals(overTime->dvarsPercent, 2)
                   + " %, before " + decimals(overTime->dvarsPercentBefore, 2) + " %.");
  if (labels)
    text.push_back("Dice of " + std::to_string(labels->byLabel.size()) + " labels: mean "
                   + decimals(labels->meanDice, 4) + ", before " + decimals(labels->meanDiceBefore, 4) + ".");
  return text;
}

std::vector<std::string> RunQuality::mismatchSigns() const
{
  constexpr double leastOverlapBefore = 0.01, keptOverlap = 2.0 / 3, leastDeterminant = 0.5,
                   largestDeterminant = 2;
  // Shares of the mutual information. Real pairs of one object have at most 0.84, 0.96 and 0.8.
  constexpr double leftAnyhow = 0.85, leftBy10Degrees = 0.96, leftShifted = 0.82;
  std::vector<std::string> signs;
  if (fixedIsInPatches != movingIsInPatches) { // certain by itself, so it counts as two
    const bool isMoving = movingIsInPatches;
    signs.push_back(std::string("the ") + (isMoving ? "moving" : "fixed")
                    + " image lies in patches of few values, as masks and label maps do");
    signs.push_back(std::string("the ") + (isMoving ? "fixed" : "moving") + " image does not");
  }
  if (overlapBefore < leastOverlapBefore)
    signs.push_back((overlapBefore > 0 ? "only " + decimals(100 * overlapBefore, 1) + " %" : "nothing")
                    + " of the fixed image (and mask) lay in the moving image before");
  if (overlap < keptOverlap * overlapBefore)
    signs.push_back("the overlap has fallen from " + decimals(100 * overlapBefore, 1) + " % to "
                    + decimals(100 * overlap, 1) + " %");
  if (determinant && !(*determinant >= leastDeterminant && *determinant <= largestDeterminant))
    signs.push_back("the transform changes volumes to " + decimals(*determinant, 3) + " times theirs");
  if (!mutualInformation)
    return signs;
  const auto [nats, turnedAnyhow, turnedBy10Degrees, shifted] = *mutualInformation;
  if (turnedAnyhow >= leftAnyhow || turnedBy10Degrees >= leftBy10Degrees)
    signs.push_back("they fit hardly worse where one is turned: " + decimals(100 * turnedAnyhow, 0)
                    + " % of their mutual information is left at the best of ten large turns, "
                    + decimals(100 * turnedBy10Degrees, 0) + " % at one by 10 degrees");
  if (shifted >= leftShifted)
    signs.push_back("they fit hardly worse where one is shifted by a fifth of its extent: "
                    + decimals(100 * shifted, 0) + " % of their mutual information is left");
  return signs;
}

template <int D>
RunQuality runQuality(const Context& context, const Registry& registry, const StageInput<D>& inputs,
                      const TransformChain<D>* before, const TransformChain<D>& result)
{
  const Context host = context.onCpu();
  const ImagePointer<D>&fixed = inputs.fixed.front(), &moving = inputs.moving.front();
  const MaskPointer<D> mask = inputs.fixedMasks.empty() ? nullptr : inputs.fixedMasks.front(),
                       movingMask = inputs.movingMasks.empty() ? nullptr : inputs.movingMasks.front();
  const ImageAtPoints<D> fixedVoxels(context, registry, knowncomponents::nearestInterpolator, fixed),
      movingVoxels(context, registry, knowncomponents::nearestInterpolator, moving),
      movingBetween(context, registry, knowncomponents::linearInterpolator, moving);
  const MovingValuesAt<D> movingAt = [&](const std::vector<Vec<D>>& pointsMm) {
    ValuesAtPoints found = movingBetween.at(pointsMm);
    if (movingMask)
      forEachRange(host, pointsMm.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
          found.inside[i] = found.inside[i] && movingMask->contains(pointsMm[i]);
      });
    return found;
  };
  RunQuality quality;
  quality.points = distances<D>(inputs.points, before, result);
  quality.fixedIsInPatches = isInPatches<D>(fixed, fixedVoxels);
  quality.movingIsInPatches = isInPatches<D>(moving, movingVoxels);

  constexpr std::size_t atOnce = 64 * batchCapacity; // few launches on a GPU, and little memory
  const SampleSet<D> set = gridOfAbout<D>(wantedPoints, fixed, mask);
  const std::size_t positions = positionCount(set);
  PointSums all;
  std::size_t count = 0;
  for (std::size_t first = 0; first < positions; first += atOnce) {
    const GridPoints<D> grid =
        gridPoints<D>(host, set, first, std::min(first + atOnce, positions), fixedVoxels);
    const std::vector<Vec<D>> endMm = mappedAll<D>(host, result, grid.mm);
    const ValuesAtPoints start = movingAt(before ? mappedAll<D>(host, *before, grid.mm) : grid.mm),
                         end = movingAt(endMm);
    for (std::size_t batch = 0; batch + 1 < grid.firstOfBatch.size(); ++batch) {
      PointSums sums;
      for (std::size_t i = grid.firstOfBatch[batch]; i < grid.firstOfBatch[batch + 1]; ++i) {
        const double mm = distanceBetween<D>(grid.mm[i], endMm[i]);
        sums.displacementMm += mm;
        quality.largestDisplacementMm = std::max(quality.largestDisplacementMm, mm);
        if (start.inside[i])
          sums.before.add(grid.intensities[i], start.values[i]);
        if (end.inside[i])
          sums.after.add(grid.intensities[i], end.values[i]);
      }
      all.displacementMm += sums.displacementMm;
      all.before.add(sums.before);
      all.after.add(sums.after);
    }
    count += grid.mm.size();
  }
  if (count == 0)
    return quality;
  const auto points = static_cast<double>(count);
  quality.overlapBefore = all.before.count / points;
  quality.overlap = all.after.count / points;
  quality.correlationBefore = all.before.correlation();
  quality.correlation = all.after.correlation();
  quality.meanDisplacementMm = all.displacementMm / points;
  if (isLinearChain<D>(&result)) {
    PointBatch<D> origin;
    origin.count = 1;
    quality.determinant = determinantsAt<D>(result, origin).front();
  }
  if constexpr (D < 4) {
    constexpr std::size_t fewerPoints = 10'000; // which are looked at in some twenty places
    const SampleSet<D> few = gridOfAbout<D>(fewerPoints, fixed, mask);
    const GridPoints<D> fewer = gridPoints<D>(host, few, 0, positionCount(few), fixedVoxels);
    quality.mutualInformation = mutualInformation<D>(
        fewer.intensities, mappedAll<D>(host, linearPart<D>(result), fewer.mm), movingAt);
  }
  return quality;
}

template <int D>
RunQuality::Labels labelQuality(const Context& context, const Registry& registry, const LabelPair<D>& pair,
                                const TransformChain<D>* before, const TransformChain<D>& result)
{
  const ImagePointer<D> fixed = pair.first, moving = pair.second;
  const auto nearest =
      hostInterpolator<D>(registry, knowncomponents::nearestInterpolator, moving, context.threads);
  const AffineMap<D> pointFromIndex = fixed->geometry.pointFromIndex();
  constexpr std::size_t voxelsAtOnce = 64 * batchCapacity;
  const std::size_t voxels = fixed->voxels.size();
  std::vector<std::map<int, LabelSums>> parts((voxels + voxelsAtOnce - 1) / voxelsAtOnce);
  forEachRange(context, voxels, voxelsAtOnce, [&](std::size_t first, std::size_t last) {
    std::map<int, LabelSums>& sums = parts[first / voxelsAtOnce];
    Context host{Device{}, 1};
    PointBatch<D> points;
    std::array<float, batchCapacity> labels, labelsBefore;
    std::array<double, batchCapacity> determinants;
    std::array<std::uint8_t, batchCapacity> inside;
    for (std::size_t at = first; at < last; at += batchCapacity) {
      fillVoxelPoints<D>(fixed->geometry.size, pointFromIndex, at,
                         std::min<std::size_t>(batchCapacity, last - at), points);
      const PointBatch<D> there = mappedPoints<D>(&result, points);
      nearest->evaluate(host, there.list(), labels.data(), nullptr, inside.data());
      nearest->evaluate(host, mappedPoints<D>(before, points).list(), labelsBefore.data(), nullptr,
                        inside.data());
      const float* const fixedLabels = fixed->voxels.data() + at;
      if (std::any_of(fixedLabels, fixedLabels + points.count, [](float label) { return label != 0; }))
        determinants = determinantsAt<D>(result, points);
      for (std::size_t i = 0; i < points.count; ++i) {
        const int a = static_cast<int>(fixedLabels[i]), b = static_cast<int>(labels[i]),
                  c = static_cast<int>(labelsBefore[i]);
        if (b != 0)
          ++sums[b].warped;
        if (c != 0)
          ++sums[c].warpedBefore;
        if (a == 0)
          continue;
        LabelSums& label = sums[a];
        ++label.fixed;
        label.both += a == b;
        label.bothBefore += a == c;
        if (determinants[i] > 0)
          label.logJacobian += std::log(determinants[i]);
        else
          ++label.folded;
      }
    }
  });
  std::map<int, LabelSums> all; // added in order, so that they do not depend on threads
  for (const std::map<int, LabelSums>& part : parts)
    for (const auto& [label, sums] : part)
      all[label].add(sums);
  std::erase_if(all, [](const auto& item) { return item.second.fixed + item.second.warped == 0; });
  std::map<int, std::size_t> movingVoxels;
  for (const float label : moving->voxels)
    if (label != 0)
      ++movingVoxels[static_cast<int>(label)];

  RunQuality::Labels quality;
  const double fixedVoxel = productOf(fixed->geometry.spacingMm),
               movingVoxel = productOf(moving->geometry.spacingMm);
  for (const auto& [number, sums] : all) {
    RunQuality::Label& found = quality.byLabel[pair.label(number)];
    const auto dice = [&](std::size_t both, std::size_t moved) {
      return both == 0 ? 0 : 2.0 * static_cast<double>(both) / static_cast<double>(sums.fixed + moved);
    };
    found.dice = dice(sums.both, sums.warped);
    found.diceBefore = dice(sums.bothBefore, sums.warpedBefore);
    found.fixedVoxels = sums.fixed;
    found.movingVoxels = movingVoxels[number];
    found.fixedVolume = fixedVoxel * static_cast<double>(found.fixedVoxels);
    found.movingVolume = movingVoxel * static_cast<double>(found.movingVoxels);
    found.logJacobianIntegral = fixedVoxel * sums.logJacobian;
    if (sums.fixed > sums.folded)
      found.meanLogJacobian = sums.logJacobian / static_cast<double>(sums.fixed - sums.folded);
    found.foldedVoxels = sums.folded;
    quality.meanDice += found.dice / static_cast<double>(all.size());
    quality.meanDiceBefore += found.diceBefore / static_cast<double>(all.size());
  }
  return quality;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(runQuality<D>, labelQuality<D>);

}
