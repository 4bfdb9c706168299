#include "Core/Image/Landmarks/StructureTensorSearch.h"
#include "Core/Runs/Resampling/HostInterpolator.h"
#include "Tools/Landmarks/Tracking.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int cubeVoxels = 6;    // the distance of keypoints
constexpr int reachOfSecond = 4; // voxels, about where the spline through the first landmarks leads

structuretensors::Window windowOf(const TrackingScene<3>& scene)
{
  return {{scene.reachVoxels, scene.reachVoxels, scene.reachVoxels}};
}

}

std::string whyTensorsNotOnCuda(const Context& context, const TrackingScene<3>& scene)
{
  const auto voxels =
      static_cast<double>(workingGrid(scene.fixed, scene.spacingMm, marginOfStructureTensors).voxelCount());
  return whyNoTensorSearchOnCuda(context, windowOf(scene), 2 * voxels);
}

namespace {

/// Where each keypoint is found forwards, and how far from it the search backwards ends, in voxels.
struct Match {
  Vec<3> displacement{};
  double squaredMissed = 0;
};

/// Searches about each keypoint moved by its offset, and backwards.
std::vector<Match> search(const Context& context, const StructureTensorImage& fixed,
                          const StructureTensorImage& moving, const std::vector<Voxel>& keypoints,
                          const std::vector<Voxel>& offsets, const structuretensors::Window& window)
{
  const Size<3>& size = fixed.size();
  const auto within = [&](int place, std::size_t d) {
    return std::clamp(place, 0, static_cast<int>(size[d]) - 1);
  };
  const std::size_t n = keypoints.size();
  std::vector<Voxel> starts(n), mapped(n), startsBack(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 3; ++d)
      starts[i][d] = within(keypoints[i][d] + offsets[i][d], d);
  const std::vector<LeastCost> forward =
      searchStructureTensors(context, fixed, moving, keypoints, starts, window);
  std::vector<Match> matches(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 3; ++d) {
      matches[i].displacement[d] = starts[i][d] - keypoints[i][d] + forward[i].displacement[d];
      mapped[i][d] = within(keypoints[i][d] + static_cast<int>(std::lround(matches[i].displacement[d])), d);
      startsBack[i][d] = within(mapped[i][d] - offsets[i][d], d);
    }
  const std::vector<LeastCost> backward =
      searchStructureTensors(context, moving, fixed, mapped, startsBack, window);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 3; ++d) {
      const double missed =
          matches[i].displacement[d] + startsBack[i][d] - mapped[i][d] + backward[i].displacement[d];
      matches[i].squaredMissed += missed * missed;
    }
  return matches;
}

/// Warns if so few keypoints were found again that images which have nothing in common would have as many.
void warnOfFew(std::size_t kept, std::size_t keypoints, Log& log)
{
  constexpr double usual = 0.2; // a lung and a liver kept 0.41 and 0.65, noise 0.05
  const double share = static_cast<double>(kept) / static_cast<double>(keypoints);
  if (share < usual)
    log.warning("only " + decimals(100 * share, 0) + " % of the keypoints are landmarks, where more than "
                + decimals(100 * usual, 0)
                + " % are usual: the images may show different things, or lie further apart than the search "
                  "reaches. Try -t0 with a registration, and look at a result before you use it.");
}

}

std::vector<TrackedPoint<3>> trackByStructureTensors(Context& context, const TrackingScene<3>& scene,
                                                     Log& log)
{
  PartClock clock(log);
  const ImagePointer<3>& fixedImage = scene.working.image;
  const ImageGeometry<3>& grid = fixedImage->geometry;
  const std::vector<Voxel> keypoints =
      FoerstnerKeypoints(context, fixedImage, scene.working.mask).inCubes(context, cubeVoxels);
  requireKeypoints(keypoints.size());
  clock.done("keypoints");
  const ImagePointer<3> movingImage =
      sampledOn<3>(context, grid, *smoothedFor(context, grid, scene.moving.image),
                   [&](PointBatch<3>& batch) { scene.toMoving(batch); });
  clock.done("moving image on the working grid");
  const StructureTensorImage fixed(context, fixedImage), moving(context, movingImage);
  clock.done("features");

  const AffineMap<3> pointFromIndex = grid.pointFromIndex(), indexFromPoint = grid.indexFromPoint();
  std::vector<Vec<3>> fixedMm;
  for (const Voxel& keypoint : keypoints)
    fixedMm.push_back(
        pointFromIndex(Vec<3>{static_cast<double>(keypoint[0]), static_cast<double>(keypoint[1]),
                              static_cast<double>(keypoint[2])}));
  std::vector<TrackedPoint<3>> points;
  std::vector<Voxel> offsets(keypoints.size(), Voxel{});
  for (const bool isSecond : {false, true}) {
    structuretensors::Window window = windowOf(scene);
    if (isSecond)
      window.reach.fill(std::min(scene.reachVoxels, reachOfSecond));
    const std::vector<Match> matches = search(context, fixed, moving, keypoints, offsets, window);
    clock.done("searches");
    points.clear();
    PointPairs<3> all; // before `initial`
    for (std::size_t i = 0; i < keypoints.size(); ++i) {
      Vec<3> to;
      for (std::size_t d = 0; d < 3; ++d)
        to[d] = keypoints[i][d] + matches[i].displacement[d];
      all.movingMm.push_back(pointFromIndex(to));
      points.push_back({fixedMm[i], scene.toMoving(all.movingMm.back()),
                        std::sqrt(matches[i].squaredMissed) * scene.spacingMm,
                        1 / (1 + matches[i].squaredMissed), ""});
    }
    dropOutliers<3>(context, scene, points);
    clock.done("agreement");
    PointPairs<3> kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].dropped.empty()) {
        kept.fixedMm.push_back(fixedMm[i]);
        kept.movingMm.push_back(all.movingMm[i]);
      }
    reportStage(kept.fixedMm.size(), points.size(), log);
    if (isSecond) {
      warnOfFew(kept.fixedMm.size(), points.size(), log);
      break;
    }
    const auto expectedMm = mappedAll<3>(context.onCpu(), smoothingSpline<3>(context, kept), fixedMm);
    for (std::size_t i = 0; i < keypoints.size(); ++i) {
      const Vec<3> place = indexFromPoint(expectedMm[i]);
      for (std::size_t d = 0; d < 3; ++d)
        offsets[i][d] = static_cast<int>(std::lround(place[d])) - keypoints[i][d];
    }
    clock.done("spline");
  }
  return points;
}

}
