#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Landmarks/TreeSearch.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Tools/Landmarks/Tracking.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

struct Stage {
  int cubeVoxels;        // the distance of keypoints
  DisplacementGrid grid; // searched
  int patchRadius;       // compared
  float costWeight;      // of descriptors against regularity
};
// The weights of 2.5 of Heinrich et al. left errors of 1.3 mm (median of 51 points of a lung) where these
// leave 1.1 mm.
constexpr std::array<Stage, 3> stages{{{6, {16, 2}, 3, 10}, {3, {8, 1}, 3, 10}, {3, {3, 1}, 3, 40}}};

constexpr int marginVoxels = 8;         // of the working grid, for what moves into the mask
constexpr double edgesPerDeviation = 2; // mm of an edge of the tree for one deviation of intensity
constexpr std::size_t fewestKeypoints = 9;

/// The displacements of a smoothing spline through landmarks, exactly and on a lattice of every third voxel.
class StageSpline {
public:
  StageSpline(Context& context, const PointPairs<3>& pairs, const ImageGeometry<3>& grid)
      : spline_(smoothingSpline(context, pairs))
  {
    ImageGeometry<3> lattice = grid;
    for (std::size_t d = 0; d < 3; ++d) {
      lattice.size[d] = (grid.size[d] + 1) / 3 + 1;
      lattice.spacingMm[d] *= 3;
    }
    for (Image<3>& image : displacements_)
      image = {lattice, std::vector<float>(lattice.voxelCount())};
    latticeIndex_ = lattice.indexFromPoint();
    const bool onCuda =
        context.onCuda()
        && wholeFieldOf(spline_)->whyNoField(DeviceKind::cuda, spline_.parameters, lattice).empty();
    Context cpu{Device{}, context.threads};
    const VectorImage<3> field = displacementField<3>(onCuda ? context : cpu, spline_, lattice);
    for (std::size_t d = 0; d < 3; ++d)
      for (std::size_t v = 0; v < displacements_[d].voxels.size(); ++v)
        displacements_[d].voxels[v] = field.voxels[3 * v + d];
  }

  /// Maps points, not by the lattice.
  void exactly(const Context& context, std::vector<Vec<3>>& pointsMm) const
  {
    forEachRange(context, pointsMm.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
      PointBatch<3> batch;
      batch.count = last - first;
      for (std::size_t i = 0; i < batch.count; ++i)
        for (std::size_t d = 0; d < 3; ++d)
          batch.mm[d][i] = pointsMm[first + i][d];
      Context oneThread;
      mapChain<3>(oneThread, spline_, batch.list(), batch.out());
      for (std::size_t i = 0; i < batch.count; ++i)
        for (std::size_t d = 0; d < 3; ++d)
          pointsMm[first + i][d] = batch.mm[d][i];
    });
  }

  void fromLattice(PointBatch<3>& points) const
  {
    for (std::size_t i = 0; i < points.count; ++i) {
      const Vec<3> index = latticeIndex_(Vec<3>{points.mm[0][i], points.mm[1][i], points.mm[2][i]});
      for (std::size_t d = 0; d < 3; ++d)
        points.mm[d][i] += linearValue(displacements_[d], index);
    }
  }

private:
  TransformChain<3> spline_;
  std::array<Image<3>, 3> displacements_;
  AffineMap<3> latticeIndex_;
};

/// The tree of keypoints: edges are short between near ones with like intensities (means over 5 voxels
/// cubed).
Tree treeOf(const Image<3>& image, std::span<const Voxel> keypoints)
{
  double sum = 0, squares = 0;
  std::vector<Vec<3>> points;
  std::vector<double> values;
  const Size<3>& size = image.geometry.size;
  for (const Voxel& keypoint : keypoints) {
    double value = 0;
    for (int z = -2; z <= 2; ++z)
      for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x) {
          Voxel near{keypoint[0] + x, keypoint[1] + y, keypoint[2] + z};
          for (std::size_t d = 0; d < 3; ++d)
            near[d] = std::clamp(near[d], 0, static_cast<int>(size[d]) - 1);
          value += image.voxels[offsetOf(size, near)] / 125;
        }
    values.push_back(value);
    sum += value;
    squares += value * value;
    points.push_back({keypoint[0] * image.geometry.spacingMm[0], keypoint[1] * image.geometry.spacingMm[1],
                      keypoint[2] * image.geometry.spacingMm[2]});
  }
  const auto n = static_cast<double>(keypoints.size());
  const double deviation = std::sqrt(std::max(squares / n - sum / n * (sum / n), 0.0));
  for (double& value : values)
    value *= deviation > 0 ? edgesPerDeviation / deviation : 0;
  return minimumSpanningTree(points, values);
}

struct Displacement {
  Vec<3> voxels{};
  double backwardVoxels = 0;
};

/// The displacements of the keypoints, as the mean of those found forwards and backwards.
std::vector<Displacement> displacements(const Context& context, const DescribedImage& fixed,
                                        const DescribedImage& moving, std::span<const Voxel> keypoints,
                                        const Tree& tree, const Stage& stage)
{
  const std::vector<LeastCost> forward = searchOnTree(context, fixed, moving, keypoints, keypoints, tree,
                                                      stage.grid, stage.patchRadius, stage.costWeight);
  std::vector<Voxel> mapped(keypoints.begin(), keypoints.end());
  for (std::size_t i = 0; i < mapped.size(); ++i)
    for (std::size_t d = 0; d < 3; ++d)
      mapped[i][d] = std::clamp(keypoints[i][d] + static_cast<int>(std::lround(forward[i].displacement[d])),
                                0, static_cast<int>(moving.size()[d]) - 1);
  const std::vector<LeastCost> backward = searchOnTree(context, moving, fixed, mapped, mapped, tree,
                                                       stage.grid, stage.patchRadius, stage.costWeight);
  std::vector<Displacement> found(keypoints.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    double squared = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      found[i].voxels[d] = (forward[i].displacement[d] - backward[i].displacement[d]) / 2;
      const double missed = forward[i].displacement[d] + backward[i].displacement[d];
      squared += missed * missed;
    }
    found[i].backwardVoxels = std::sqrt(squared);
  }
  return found;
}

}

std::string whySelfSimilarityNotOnCuda(const Context& context, const TrackingScene& scene)
{
  const auto voxels =
      static_cast<double>(workingGrid(scene.fixed, scene.spacingMm, marginVoxels).voxelCount());
  // both images have descriptors while keypoints are looked for, or descriptors are made
  const double needed =
                   voxels
                   * (12
                      + std::max(DescribedImage::deviceBytesOfVoxel, FoerstnerKeypoints::deviceBytesOfVoxel)),
               usable = usableDeviceMemory(context);
  return needed <= usable ? ""
                          : "self-similarity needs " + memoryText(needed) + " of the GPU's memory, "
                                + memoryText(usable) + " are free";
}

std::vector<TrackedPoint> trackBySelfSimilarity(Context& context, const TrackingScene& scene, RunLog& log)
{
  const ImageGeometry<3> grid = workingGrid(scene.fixed, scene.spacingMm, marginVoxels);
  const ImagePointer<3> fixedImage = sampledOn(context, grid, *scene.fixed.image, {});
  const std::vector<std::uint8_t> mask = maskOn(context, grid, scene.fixed);
  const FoerstnerKeypoints distinct(context, fixedImage, mask);
  const DescribedImage fixed(context, fixedImage);
  const AffineMap<3> pointFromIndex = grid.pointFromIndex();

  std::vector<TrackedPoint> points;
  std::unique_ptr<StageSpline> spline;
  std::vector<Voxel> keypoints;
  Tree tree;
  int cubeVoxels = 0; // of the keypoints and the tree
  for (const Stage& stage : stages) {
    if (stage.cubeVoxels != cubeVoxels) {
      cubeVoxels = stage.cubeVoxels;
      keypoints = distinct.inCubes(context, cubeVoxels);
      requireKeypoints(keypoints.size(), fewestKeypoints);
      tree = treeOf(*fixedImage, keypoints);
    }
    const ImagePointer<3> movingImage =
        sampledOn(context, grid, *scene.moving.image, [&](PointBatch<3>& batch) {
          if (spline)
            spline->fromLattice(batch);
          scene.toMoving(batch);
        });
    const DescribedImage moving(context, movingImage);
    const std::vector<Displacement> found = displacements(context, fixed, moving, keypoints, tree, stage);

    points.clear();
    PointPairs<3> splinePairs; // in the fixed image's world, before `initial`
    for (std::size_t i = 0; i < keypoints.size(); ++i) {
      Vec<3> from, to;
      for (std::size_t d = 0; d < 3; ++d) {
        from[d] = keypoints[i][d];
        to[d] = from[d] + found[i].voxels[d];
      }
      splinePairs.fixedMm.push_back(pointFromIndex(from));
      splinePairs.movingMm.push_back(pointFromIndex(to));
    }
    if (spline)
      spline->exactly(context, splinePairs.movingMm);
    for (std::size_t i = 0; i < keypoints.size(); ++i)
      points.push_back({splinePairs.fixedMm[i], scene.toMoving(splinePairs.movingMm[i]),
                        found[i].backwardVoxels * scene.spacingMm,
                        1 / (1 + found[i].backwardVoxels * found[i].backwardVoxels), ""});
    dropOutliers(context, scene, points);
    PointPairs<3> kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].dropped.empty()) {
        kept.fixedMm.push_back(splinePairs.fixedMm[i]);
        kept.movingMm.push_back(splinePairs.movingMm[i]);
      }
    reportStage(kept.fixedMm.size(), points.size(), fewestKeypoints, log);
    if (&stage != &stages.back())
      spline = std::make_unique<StageSpline>(context, kept, grid);
  }
  return points;
}

}
