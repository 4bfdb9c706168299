#include "Core/Compute/Error.h"
#include "Core/Image/Landmarks/StructureTensorSearch.h"
#include "Tools/Landmarks/Tracking.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int cubeVoxels = 6; // the distance of keypoints
constexpr std::size_t fewestKeypoints = 9;

structuretensors::Window windowOf(const TrackingScene& scene)
{
  return {{scene.reachVoxels, scene.reachVoxels, scene.reachVoxels}};
}

}

std::string whyTensorsNotOnCuda(const Context& context, const TrackingScene& scene)
{
  const auto voxels = static_cast<double>(workingGrid(scene.fixed, scene.spacingMm, 0).voxelCount());
  return whyNoTensorSearchOnCuda(context, windowOf(scene), 2 * voxels);
}

std::vector<TrackedPoint> trackByStructureTensors(Context& context, const TrackingScene& scene, RunLog& log)
{
  const structuretensors::Window window = windowOf(scene);
  const ImageGeometry<3> grid = workingGrid(scene.fixed, scene.spacingMm, 0);
  const ImagePointer<3> fixedImage = sampledOn(context, grid, *scene.fixed.image, {});
  const std::vector<std::uint8_t> mask = maskOn(context, grid, scene.fixed);
  const std::vector<Voxel> keypoints =
      FoerstnerKeypoints(context, fixedImage, mask).inCubes(context, cubeVoxels);
  requireKeypoints(keypoints.size(), fewestKeypoints);
  const ImagePointer<3> movingImage =
      sampledOn(context, grid, *scene.moving.image, [&](PointBatch<3>& batch) { scene.toMoving(batch); });
  const StructureTensorImage fixed(context, fixedImage), moving(context, movingImage);

  const std::vector<LeastCost> forward =
      searchStructureTensors(context, fixed, moving, keypoints, keypoints, window);
  std::vector<Voxel> mapped = keypoints;
  for (std::size_t i = 0; i < mapped.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      mapped[i][d] = std::clamp(keypoints[i][d] + static_cast<int>(std::lround(forward[i].displacement[d])),
                                0, static_cast<int>(grid.size[d]) - 1);
  const std::vector<LeastCost> backward =
      searchStructureTensors(context, moving, fixed, mapped, mapped, window);

  const AffineMap<3> pointFromIndex = grid.pointFromIndex();
  std::vector<TrackedPoint> points;
  for (std::size_t i = 0; i < keypoints.size(); ++i) {
    Vec<3> from, to;
    double squared = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      from[d] = keypoints[i][d];
      to[d] = from[d] + forward[i].displacement[d];
      const double missed = forward[i].displacement[d] + backward[i].displacement[d];
      squared += missed * missed;
    }
    points.push_back({pointFromIndex(from), scene.toMoving(pointFromIndex(to)),
                      std::sqrt(squared) * scene.spacingMm, 1 / (1 + squared), ""});
  }
  dropOutliers(context, scene, points);
  const auto kept = std::ranges::count_if(points, [](const TrackedPoint& p) { return p.dropped.empty(); });
  reportStage(static_cast<std::size_t>(kept), points.size(), fewestKeypoints, log);
  return points;
}

}
