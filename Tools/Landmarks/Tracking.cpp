#include "Tools/Landmarks/Tracking.h"

#include "Components/Transforms/SplineKernelTransform.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Landmarks/NeighbourAgreement.h"
#include "Core/Parameters/Parameters.h"

namespace tessera {
namespace {

constexpr std::size_t minKeypoints = 9;
constexpr double largestBackwardVoxels = 2;

}

template <int D>
void TrackingScene<D>::toMoving(PointBatch<D>& points) const
{
  Context oneThread;
  if (initial)
    mapChain<D>(oneThread, *initial, points.list(), points.out());
}

template <int D>
Vec<D> TrackingScene<D>::toMoving(const Vec<D>& pointMm) const
{
  return initial ? mappedPoint<D>(*initial, pointMm) : pointMm;
}

namespace {

/// Every so many pairs, so that at most `most` are left.
template <int D>
PointPairs<D> thinned(const PointPairs<D>& pairs, std::size_t most)
{
  const std::size_t step = (pairs.fixedMm.size() + most - 1) / most;
  PointPairs<D> part;
  for (std::size_t i = 0; i < pairs.fixedMm.size(); i += step) {
    part.fixedMm.push_back(pairs.fixedMm[i]);
    part.movingMm.push_back(pairs.movingMm[i]);
  }
  return part;
}

/// The spline by the given value of SplineSmoothing.
template <int D>
TransformChain<D> splineThrough(Context& context, const PointPairs<D>& pairs, const std::string& smoothing)
{
  std::vector<std::string> notes;
  const auto transform = std::make_shared<SplineKernelTransform<D>>(
      Parameters(std::make_shared<ParameterMap>(
                     parseParameterText("(SplineSmoothing \"" + smoothing + "\")", "tracking", notes)),
                 "Transform0", D, 1));
  TransformStart<D> start;
  start.points = &pairs;
  return {.transform = transform, .parameters = transform->initialize(context, start)};
}

}

template <int D>
TransformChain<D> smoothingSpline(Context& context, const PointPairs<D>& allPairs)
{
  const PointPairs<D> pairs = thinned(allPairs, 2000), part = thinned(pairs, 500);
  TransformChain<D> splineOfPart = splineThrough<D>(context, part, "auto");
  if (part.fixedMm.size() == pairs.fixedMm.size())
    return splineOfPart;
  const double smoothing =
      dynamic_cast<const SplineKernelTransform<D>&>(*splineOfPart.transform).smoothing().value();
  return splineThrough<D>(context, pairs, significant(smoothing, 17));
}

void requireKeypoints(std::size_t found)
{
  if (found < minKeypoints)
    failAs(ExitCode::registrationFailed, "-f", std::to_string(found) + " keypoints were found",
           "an image with structure in its mask, for at least " + std::to_string(minKeypoints));
}

void reportStage(std::size_t kept, std::size_t keypoints, Log& log)
{
  log.info("Keypoints: " + std::to_string(keypoints) + ", of which " + std::to_string(kept)
           + " were found again.");
  if (kept < minKeypoints)
    failAs(ExitCode::registrationFailed, "-m",
           std::to_string(kept) + " of " + std::to_string(keypoints) + " keypoints were found again",
           "images that show the same, near each other after -t0");
}

template <int D>
void dropOutliers(const Context& context, const TrackingScene<D>& scene, std::vector<TrackedPoint<D>>& points)
{
  const PointToIndex<D> indexOf = scene.moving.image->geometry.pointToIndex();
  for (TrackedPoint<D>& point : points) {
    std::size_t voxel;
    if (!findNearestVoxel<D>(scene.moving.image->geometry.size, indexOf(point.movingMm), voxel)
        || !scene.moving.mayUse(point.movingMm))
      point.dropped = "outside";
    else if (point.backwardMm > largestBackwardVoxels * scene.spacingMm)
      point.dropped = "backward";
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].dropped.empty())
      left.push_back(i);
  std::vector<Vec<3>> pointsMm(left.size()), displacementsMm(left.size()); // against the initial transform
  forEachRange(context, left.size(), 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const TrackedPoint<D>& point = points[left[i]];
      const Vec<D> startMm = scene.toMoving(point.fixedMm);
      for (std::size_t d = 0; d < D; ++d) {
        pointsMm[i][d] = point.fixedMm[d];
        displacementsMm[i][d] = point.movingMm[d] - startMm[d];
      }
    }
  });
  const std::vector<bool> agrees =
      agreesWithNeighbours(context, pointsMm, displacementsMm, scene.toleranceMm);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!agrees[i])
      points[left[i]].dropped = "neighbours";
}

TESSERA_INSTANTIATE_CLASS(TrackingScene);
TESSERA_INSTANTIATE_FUNCTIONS(smoothingSpline<D>, dropOutliers<D>);

}
