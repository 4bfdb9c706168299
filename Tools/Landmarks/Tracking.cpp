#include "Tools/Landmarks/Tracking.h"

#include "Components/Transforms/SplineKernelTransform.h"
#include "Core/Compute/Error.h"
#include "Core/Image/Landmarks/NeighbourAgreement.h"
#include "Core/Parameters/Parameters.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double largestBackwardVoxels = 2;

}

void TrackingScene::toMoving(PointBatch<3>& points) const
{
  Context oneThread;
  if (initial)
    mapChain<3>(oneThread, *initial, points.list(), points.out());
}

Vec<3> TrackingScene::toMoving(const Vec<3>& pointMm) const
{
  Vec<3> mapped = pointMm;
  Context oneThread;
  if (initial)
    mapChain<3>(oneThread, *initial, {{&mapped[0], &mapped[1], &mapped[2]}, 1},
                {&mapped[0], &mapped[1], &mapped[2]});
  return mapped;
}

TransformChain<3> smoothingSpline(Context& context, const PointPairs<3>& pairs)
{
  std::vector<std::string> notes;
  const auto transform = std::make_shared<SplineKernelTransform<3>>(Parameters(
      std::make_shared<ParameterMap>(parseParameterText("(SplineSmoothing \"auto\")", "tracking", notes)),
      "Transform0", 3, 1));
  TransformStart<3> start;
  start.points = &pairs;
  TransformChain<3> spline;
  spline.parameters = transform->initialize(context, start);
  spline.transform = transform;
  return spline;
}

void requireKeypoints(std::size_t found, std::size_t fewest)
{
  if (found < fewest)
    throw Error(ExitCode::registrationFailed,
                "-f: " + std::to_string(found)
                    + " keypoints were found. Allowed: an image with structure in its mask, for at least "
                    + std::to_string(fewest) + ".");
}

void reportStage(std::size_t kept, std::size_t keypoints, std::size_t fewest, RunLog& log)
{
  log.info("Keypoints: " + std::to_string(keypoints) + ", of which " + std::to_string(kept)
           + " were found again.");
  if (kept < fewest)
    throw Error(ExitCode::registrationFailed, "-m: " + std::to_string(kept) + " of "
                                                  + std::to_string(keypoints)
                                                  + " keypoints were found again. Allowed: images that "
                                                    "show the same, near each other after -t0.");
}

void dropOutliers(const Context& context, const TrackingScene& scene, std::vector<TrackedPoint>& points)
{
  const PointToIndex<3> indexOf = scene.moving.image->geometry.pointToIndex();
  for (TrackedPoint& point : points) {
    std::size_t voxel;
    if (!findNearestVoxel<3>(scene.moving.image->geometry.size, indexOf(point.movingMm), voxel)
        || !scene.moving.mayUse(point.movingMm))
      point.dropped = "outside";
    else if (point.backwardMm > largestBackwardVoxels * scene.spacingMm)
      point.dropped = "backward";
  }
  std::vector<std::size_t> left;
  std::vector<Vec<3>> pointsMm, displacementsMm; // against the initial transform
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].dropped.empty()) {
      left.push_back(i);
      pointsMm.push_back(points[i].fixedMm);
      const Vec<3> startMm = scene.toMoving(points[i].fixedMm);
      displacementsMm.emplace_back();
      for (std::size_t d = 0; d < 3; ++d)
        displacementsMm.back()[d] = points[i].movingMm[d] - startMm[d];
    }
  const std::vector<bool> agrees =
      agreesWithNeighbours(context, pointsMm, displacementsMm, scene.toleranceMm);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!agrees[i])
      points[left[i]].dropped = "neighbours";
}

}
