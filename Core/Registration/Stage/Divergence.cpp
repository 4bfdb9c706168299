#include "Core/Registration/Stage/Divergence.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t pointsToMap = 10000;
constexpr double farAway = 0.05;     // share of the fixed image's diagonal
constexpr double clearlyWorse = 0.1; // share of the larger of both costs
constexpr double fewInside = 0.25;   // share of points, elastix's RequiredRatioOfValidSamples

/// The motion of points of the fixed image from one chain to another.
struct Motion {
  double meanMm = 0;
  double insideAtStart = 0, insideAtEnd = 0; // shares of the points that map into the moving image
};

template <int D>
bool isInside(const ImageGeometry<D>& image, const PointToIndex<D>& pointToIndex, const Vec<D>& pointMm)
{
  const Vec<D> index = pointToIndex(pointMm);
  for (int d = 0; d < D; ++d)
    if (!(index[d] >= -0.5 && index[d] < static_cast<double>(image.size[d]) - 0.5))
      return false;
  return true;
}

template <int D>
Motion motionBetween(const StageInput<D>& input, const TransformChain<D>& start, const TransformChain<D>& end)
{
  Context host{Device{}, 1};
  const ImageGeometry<D>& moving = input.moving.front()->geometry;
  const PointToIndex<D> pointToIndex = moving.pointToIndex();
  const MaskPointer<D> mask = input.fixedMasks.empty() ? nullptr : input.fixedMasks.front();
  const SampleSet<D> points = gridOfAbout<D>(pointsToMap, input.fixed.front(), mask);
  Motion motion;
  std::size_t count = 0;
  std::array<float, batchCapacity> unused;
  for (std::size_t first = 0; first < positionCount(points); first += batchCapacity) {
    PointBatch<D> before, after;
    const std::size_t last = std::min(first + batchCapacity, positionCount(points));
    fillBatch<D>(points, first, last, before, unused.data());
    after = before;
    mapChain<D>(host, start, before.list(), before.out());
    mapChain<D>(host, end, after.list(), after.out());
    for (std::size_t i = 0; i < before.count; ++i) {
      Vec<D> from, to;
      double squared = 0;
      for (int d = 0; d < D; ++d) {
        from[d] = before.mm[d][i];
        to[d] = after.mm[d][i];
        squared += (to[d] - from[d]) * (to[d] - from[d]);
      }
      motion.meanMm += std::sqrt(squared);
      motion.insideAtStart += isInside<D>(moving, pointToIndex, from);
      motion.insideAtEnd += isInside<D>(moving, pointToIndex, to);
    }
    count += before.count;
  }
  const double share = count == 0 ? 0 : 1 / static_cast<double>(count);
  return {motion.meanMm * share, motion.insideAtStart * share, motion.insideAtEnd * share};
}

template <int D>
double diagonalMm(const ImageGeometry<D>& geometry)
{
  double squared = 0;
  for (int d = 0; d < D; ++d)
    squared += std::pow(geometry.spacingMm[d] * static_cast<double>(geometry.size[d]), 2);
  return std::sqrt(squared);
}

template <int D>
double valueAt(Cost<D>& cost, const TransformChain<D>& chain)
{
  Buffer<double> position(cost.context(), chain.parameters.size());
  position.fromHost(cost.context(), cost.positionOf(chain.parameters));
  return cost.evaluate(std::as_const(position).span(), {});
}

/// Nothing if too few samples are valid there.
template <int D>
std::optional<double> valueAtStart(Cost<D>& cost, const TransformChain<D>& start)
{
  try {
    return valueAt(cost, start);
  } catch (const Error& error) {
    if (error.code() != ExitCode::registrationFailed)
      throw;
    return std::nullopt;
  }
}

std::string format(const char* format, double a, double b, double c)
{
  char text[300];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

}

template <int D>
std::string whyDiverged(Cost<D>& cost, const StageInput<D>& input, const TransformChain<D>& start,
                        const TransformChain<D>& end)
{
  const Motion motion = motionBetween(input, start, end);
  if (!(motion.insideAtEnd >= fewInside) && motion.insideAtEnd < motion.insideAtStart / 2)
    return format(
        "the samples have left the moving image: %.1f %% of the points of the fixed image (and mask) "
        "map into it, at the start of the stage it was %.1f %%; they moved %.1f mm on average",
        100 * motion.insideAtEnd, 100 * motion.insideAtStart, motion.meanMm);
  const bool movedFar = motion.meanMm > farAway * diagonalMm(input.fixed.front()->geometry);
  if (!movedFar || motion.insideAtEnd > motion.insideAtStart + farAway)
    return "";
  const double atEnd = valueAt(cost, end);
  const std::optional<double> atStart = valueAtStart(cost, start);
  if (!atStart || !(atEnd - *atStart > clearlyWorse * std::max(std::abs(atEnd), std::abs(*atStart))))
    return "";
  return format(
      "the result is worse than the start of the stage: the metric is %.6g, at the start it was %.6g "
      "on the same samples, and points moved %.1f mm on average",
      atEnd, *atStart, motion.meanMm);
}

template std::string whyDiverged(Cost<2>&, const StageInput<2>&, const TransformChain<2>&,
                                 const TransformChain<2>&);
template std::string whyDiverged(Cost<3>&, const StageInput<3>&, const TransformChain<3>&,
                                 const TransformChain<3>&);

}
