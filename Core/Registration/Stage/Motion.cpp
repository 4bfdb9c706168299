#include "Core/Registration/Stage/Motion.h"

#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t pointsToMap = 10000;

/// The points of a batch through a chain, after they were moved along an axis (-1: not).
template <int D>
PointBatch<D> mapped(const TransformChain<D>& chain, PointBatch<D> batch, int axis, double byMm)
{
  Context host{Device{}, 1};
  if (axis >= 0)
    for (std::size_t i = 0; i < batch.count; ++i)
      batch.mm[axis][i] += byMm;
  mapChain<D>(host, chain, batch.list(), batch.out());
  return batch;
}

}

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
MotionMasks<D> masksAsGiven(const StageInput<D>& input)
{
  return {input.fixedMasks.empty() ? nullptr : input.fixedMasks.front(),
          input.movingMasks.empty() ? nullptr : input.movingMasks.front()};
}

template <int D>
Motion motionBetween(const Context& context, const StageInput<D>& input, const MotionMasks<D>& masks,
                     const TransformChain<D>& start, const TransformChain<D>& end)
{
  const ImageGeometry<D>&fixed = input.fixed.front()->geometry, &moving = input.moving.front()->geometry;
  const PointToIndex<D> pointToIndex = moving.pointToIndex();
  const SampleSet<D> points = gridOfAbout<D>(pointsToMap, input.fixed.front(), masks.fixed);
  const Vec<D> fixedCentre = fixed.centerMm(), movingCentre = moving.centerMm();
  const double stepMm = *std::min_element(fixed.spacingMm.begin(), fixed.spacingMm.end()) / 2;
  const auto inMask = [&](const Vec<D>& pointMm) { return !masks.moving || masks.moving->contains(pointMm); };
  struct Sums : Motion {
    std::size_t count = 0;
  };
  std::vector<Sums> all((positionCount(points) + batchCapacity - 1) / batchCapacity);
  const Context host{Device{}, context.threads};
  forEachRange(host, positionCount(points), batchCapacity, [&](std::size_t first, std::size_t last) {
    Sums& motion = all[first / batchCapacity];
    PointBatch<D> batch;
    fillBatch<D>(points, first, last, batch, nullptr);
    const PointBatch<D> before = mapped<D>(start, batch, -1, 0), after = mapped<D>(end, batch, -1, 0);
    std::array<PointBatch<D>, D> beside;
    for (int axis = 0; axis < D; ++axis)
      beside[axis] = mapped<D>(end, batch, axis, stepMm);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const Vec<D> from = before.list().point(i), to = after.list().point(i);
      Vec<D> centred = batch.list().point(i);
      Matrix<D> derivative;
      double squared = 0;
      for (int d = 0; d < D; ++d) {
        squared += (to[d] - from[d]) * (to[d] - from[d]);
        centred[d] += movingCentre[d] - fixedCentre[d];
        for (int axis = 0; axis < D; ++axis)
          derivative[d][axis] = (beside[axis].mm[d][i] - to[d]) / stepMm;
      }
      const bool startsInside = isInside<D>(moving, pointToIndex, from),
                 endsInside = isInside<D>(moving, pointToIndex, to);
      motion.meanMm += std::sqrt(squared);
      motion.largestMm = std::max(motion.largestMm, std::sqrt(squared));
      motion.insideAtStart += startsInside;
      motion.insideAtEnd += endsInside;
      motion.inMaskAtStart += startsInside && inMask(from);
      motion.inMaskAtEnd += endsInside && inMask(to);
      motion.foldedAtEnd += !(determinant(derivative) > 0);
      motion.insideIfCentred += isInside<D>(moving, pointToIndex, centred);
    }
    motion.count = batch.count;
  });
  Motion motion;
  double count = 0;
  constexpr std::array sums{&Motion::meanMm,         &Motion::insideAtStart, &Motion::insideAtEnd,
                            &Motion::inMaskAtStart,  &Motion::inMaskAtEnd,   &Motion::foldedAtEnd,
                            &Motion::insideIfCentred};
  for (const Sums& of : all) {
    count += static_cast<double>(of.count);
    motion.largestMm = std::max(motion.largestMm, of.largestMm);
    for (double Motion::*const sum : sums)
      motion.*sum += of.*sum;
  }
  for (double Motion::*const sum : sums)
    motion.*sum /= std::max(1.0, count);
  return motion;
}

template <int D>
double diagonalMm(const ImageGeometry<D>& geometry)
{
  double squared = 0;
  for (int d = 0; d < D; ++d)
    squared += std::pow(geometry.spacingMm[d] * static_cast<double>(geometry.size[d]), 2);
  return std::sqrt(squared);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(isInside<D>, masksAsGiven<D>, motionBetween<D>, diagonalMm<D>);

}
