#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Landmarks/LinearSamplesOnCuda.h"
#include "Core/Image/Landmarks/TreeRegularization.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Core/Runs/Resampling/HostInterpolator.h"
#include "Tools/Landmarks/Tracking.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

struct Stage {
  int cubeVoxels;        // the least distance of keypoints
  DisplacementGrid grid; // searched
  int patchRadius;       // compared
  float costWeight;      // of descriptors against regularity
};
// The weights of 2.5 of Heinrich et al. left errors of 1.3 mm (median of 51 points of a lung) where these
// leave 1.1 mm. A patch of 2D is wider, because it has fewer voxels.
template <int D>
constexpr std::array<Stage, 3> stages{{{6, {16, 2}, 3, 10}, {3, {8, 1}, 3, 10}, {3, {3, 1}, 3, 40}}};
template <>
constexpr std::array<Stage, 3> stages<2>{
    {{6, {32, 2, 2}, 7, 10}, {3, {8, 1, 2}, 7, 10}, {3, {3, 1, 2}, 7, 40}}};

constexpr double edgesPerDeviation = 2; // mm of an edge of the tree for one deviation of intensity

/// The displacements of a smoothing spline through landmarks, exactly and on a lattice of every third voxel.
template <int D>
class StageSpline {
public:
  StageSpline(Context& context, const PointPairs<D>& pairs, const ImageGeometry<D>& grid)
      : spline_(smoothingSpline<D>(context, pairs)), lattice_(grid)
  {
    for (std::size_t d = 0; d < D; ++d) {
      lattice_.size[d] = (grid.size[d] + 1) / 3 + 1;
      lattice_.spacingMm[d] *= 3;
    }
    latticeIndex_ = lattice_.indexFromPoint();
    const bool onCuda =
        context.onCuda()
        && wholeFieldOf(spline_)->whyNoField(DeviceKind::cuda, spline_.parameters, lattice_).empty();
    Context cpu = context.onCpu();
    field_ = std::make_shared<const VectorImage<D>>(
        displacementField<D>(onCuda ? context : cpu, spline_, lattice_));
  }

  /// Maps points, not by the lattice.
  void exactly(const Context& context, std::vector<Vec<D>>& pointsMm) const
  {
    pointsMm = mappedAll<D>(context.onCpu(), spline_, pointsMm);
  }

  void fromLattice(PointBatch<D>& points) const
  {
    const LinearPlaces<D> places(lattice_, latticeIndex_, points);
    std::array<float, batchCapacity> displacement;
    for (std::size_t d = 0; d < D; ++d) {
      places.values(field_->voxels.data() + d, displacement.data(), D);
      for (std::size_t i = 0; i < points.count; ++i)
        points.mm[d][i] += displacement[i];
    }
  }

  const std::shared_ptr<const VectorImage<D>>& field() const { return field_; } // mm, on a lattice

private:
  TransformChain<D> spline_;
  ImageGeometry<D> lattice_;
  std::shared_ptr<const VectorImage<D>> field_;
  AffineMap<D> latticeIndex_;
};

/// The tree of keypoints: edges are short between near ones with like intensities (means over 5 voxels
/// cubed).
template <int D>
Tree treeOf(const Image<D>& image, std::span<const Voxel> keypoints)
{
  constexpr int radiusZ = D == 3 ? 2 : 0;
  Size<3> size{1, 1, 1};
  std::ranges::copy(image.geometry.size, size.begin());
  double sum = 0, squares = 0;
  std::vector<Vec<3>> points;
  std::vector<double> values;
  for (const Voxel& keypoint : keypoints) {
    double value = 0;
    for (int z = -radiusZ; z <= radiusZ; ++z)
      for (int y = -2; y <= 2; ++y)
        for (int x = -2; x <= 2; ++x) {
          Voxel near{keypoint[0] + x, keypoint[1] + y, keypoint[2] + z};
          for (std::size_t d = 0; d < 3; ++d)
            near[d] = std::clamp(near[d], 0, static_cast<int>(size[d]) - 1);
          value += image.voxels[offsetOf(size, near)] / (25 * (2 * radiusZ + 1));
        }
    values.push_back(value);
    sum += value;
    squares += value * value;
    points.emplace_back();
    for (std::size_t d = 0; d < D; ++d)
      points.back()[d] = keypoint[d] * image.geometry.spacingMm[d];
  }
  const auto n = static_cast<double>(keypoints.size());
  const double deviation = std::sqrt(std::max(squares / n - sum / n * (sum / n), 0.0));
  for (double& value : values)
    value *= deviation > 0 ? edgesPerDeviation / deviation : 0;
  return minimumSpanningTree(points, values);
}

/// The moving image on the working grid, through the spline (null: none) and then the initial transform. On
/// CUDA its voxels are on the device alone, as long as `held` exists.
template <int D>
struct MovingImage {
  ImagePointer<D> image;
  std::shared_ptr<const Buffer<float>> held;

  MovingImage(const Context& context, const TrackingScene<D>& scene, const ImageGeometry<D>& grid,
              const ImagePointer<D>& source, const StageSpline<D>* spline)
  {
    if constexpr (D == 3)
      if (const auto initial = context.onCuda() && scene.initial
                                   ? asLinearMap<D>(scene.initial.get(), scene.initial->parameters)
                                   : std::optional(AffineMap<D>{});
          context.onCuda() && initial) {
        sampleOnCuda(context, grid, source, *initial, spline);
        return;
      }
    image = sampledOn<D>(context, grid, *source, [&](PointBatch<D>& batch) {
      if (spline)
        spline->fromLattice(batch);
      scene.toMoving(batch);
    });
  }

private:
  void sampleOnCuda(const Context& context, const ImageGeometry<D>& grid, const ImagePointer<D>& source,
                    const AffineMap<D>& initial, const StageSpline<D>* spline)
  {
    const auto voxels = voxelsOnCuda<D>(context, source);
    std::shared_ptr<const Buffer<float>> field;
    DisplacementsOnCuda displacements;
    if (spline) {
      field = voxelsOnCuda<D>(context, spline->field());
      const ImageGeometry<D>& lattice = spline->field()->geometry;
      displacements = {field->span().data(), lattice.size, lattice.indexFromPoint()};
    }
    Buffer<float> sampled(context, grid.voxelCount());
    sampleLinearlyOnCuda(context, grid.size, grid.pointFromIndex(), displacements,
                         {voxels->span().data(), source->geometry.size,
                          compose<D>(source->geometry.indexFromPoint(), initial)},
                         sampled.span().data());
    image = std::make_shared<const Image<D>>(Image<D>{grid, {}});
    held = shareVoxelsOnCuda<D>(context, image, std::move(sampled));
  }
};

struct Displacement {
  Vec<3> voxels{};
  double backwardVoxels = 0;
};

/// The voxel of an image of this size that is nearest to the displaced place.
template <int D>
Voxel moved(Voxel place, const Vec<3>& displacement, const Size<D>& size)
{
  for (std::size_t d = 0; d < D; ++d)
    place[d] = std::clamp(place[d] + static_cast<int>(std::lround(displacement[d])), 0,
                          static_cast<int>(size[d]) - 1);
  return place;
}

/// The displacements of the keypoints, as the mean of those found forwards and backwards.
template <int D>
std::vector<Displacement> displacements(const Context& context, const DescribedImage<D>& fixed,
                                        const DescribedImage<D>& moving, std::span<const Voxel> keypoints,
                                        const Tree& tree, const Stage& stage)
{
  const std::vector<LeastCost> forward = searchOnTree(context, fixed, moving, keypoints, keypoints, tree,
                                                      stage.grid, stage.patchRadius, stage.costWeight);
  std::vector<Voxel> mapped;
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    mapped.push_back(moved<D>(keypoints[i], forward[i].displacement, moving.size()));
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

/// The value in the middle, of an even number of values the greater of both.
float upperMedian(std::vector<float> values)
{
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Drops points whose descriptors are hardly more alike than those of places that do not belong together, and
/// warns if they are most. How many points were found again does not tell: the tree ties displacements
/// together so well that they agree with each other and backwards in images that have nothing in common.
template <int D>
void dropUnlike(const Context& context, const DescribedImage<D>& fixed, const DescribedImage<D>& moving,
                std::span<const Voxel> keypoints, std::span<const Displacement> found, int patchRadius,
                std::vector<TrackedPoint<D>>& points, Log& log)
{
  constexpr double largest =
      0.6; // medians of lungs, brains, CT and MR: 0.2 to 0.48; of unrelated pictures 0.69
  std::vector<Voxel> partners;
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    partners.push_back(moved<D>(keypoints[i], found[i].voxels, moving.size()));
  const auto costs = [&] {
    return searchCosts<D>(context, fixed, moving, keypoints, partners, {0, 1, D}, patchRadius);
  };
  const std::vector<float> costsOfPartners = costs();
  std::ranges::rotate(partners, partners.begin() + static_cast<std::ptrdiff_t>(partners.size() / 2));
  const double random = upperMedian(costs());
  std::size_t alike = 0, unlike = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].difference = random > 0 ? costsOfPartners[i] / random : 0;
    if (!points[i].dropped.empty())
      continue;
    const bool isUnlike = points[i].difference > largest;
    ++(isUnlike ? unlike : alike);
    if (isUnlike)
      points[i].dropped = "unlike";
  }
  if (unlike >= alike)
    log.warning("at " + std::to_string(unlike) + " of " + std::to_string(unlike + alike)
                + " keypoints the images differ by more than " + decimals(100 * largest, 0)
                + " % of how they differ at random places: the images may show different things, lie further "
                  "apart than the search reaches, or have noise without structure beside what they show. Try "
                  "-t0 with a registration, and -fMask.");
}

}

std::string whySelfSimilarityNotOnCuda(const Context& context, const TrackingScene<3>& scene)
{
  const auto voxels =
      static_cast<double>(workingGrid(scene.fixed, scene.spacingMm, marginOfSelfSimilarity).voxelCount());
  // descriptors of the moving image are made beside those of the fixed one and the distinctiveness
  const double needed = voxels
                            * std::max(12 + FoerstnerKeypoints::keptBytesOfVoxel
                                           + DescribedImage<3>::deviceBytesOfVoxel,
                                       FoerstnerKeypoints::deviceBytesOfVoxel)
                        + sizeof(float) * static_cast<double>(scene.moving.image->voxels.size()),
               usable = usableDeviceMemory(context);
  return needed <= usable ? ""
                          : "self-similarity needs " + memoryText(needed) + " of the GPU's memory, "
                                + memoryText(usable) + " are free";
}

template <int D>
std::vector<TrackedPoint<D>> trackBySelfSimilarity(Context& context, const TrackingScene<D>& scene, Log& log)
{
  PartClock clock(log);
  const ImagePointer<D>& fixedImage = scene.working.image;
  const ImageGeometry<D>& grid = fixedImage->geometry;
  const FoerstnerKeypoints distinct(context, fixedImage, scene.working.mask);
  clock.done("distinctiveness");
  const DescribedImage<D> fixed(context, fixedImage);
  clock.done("descriptors of the fixed image");
  const ImagePointer<D> movingSource = smoothedFor(context, grid, scene.moving.image);
  std::shared_ptr<const Buffer<float>> movingOnCuda; // held for all stages
  if (context.onCuda())
    movingOnCuda = voxelsOnCuda<D>(context, movingSource);
  const AffineMap<D> pointFromIndex = grid.pointFromIndex();

  std::vector<TrackedPoint<D>> points;
  std::unique_ptr<StageSpline<D>> spline;
  std::vector<Voxel> keypoints;
  Tree tree;
  int cubeVoxels = 0; // of the keypoints and the tree
  for (const Stage& stage : stages<D>) {
    if (stage.cubeVoxels != cubeVoxels) {
      cubeVoxels = stage.cubeVoxels;
      std::vector<Voxel> found = distinct.inCubes(context, cubeVoxels, scene.maxKeypoints);
      requireKeypoints(found.size());
      clock.done("keypoints");
      if (found != keypoints) { // large images have as many in both sizes of cubes
        keypoints = std::move(found);
        tree = treeOf<D>(*fixedImage, keypoints);
        clock.done("spanning tree");
      }
    }
    const MovingImage<D> movingImage(context, scene, grid, movingSource, spline.get());
    clock.done("moving image on the working grid");
    const DescribedImage<D> moving(context, movingImage.image);
    clock.done("descriptors of the moving image");
    const std::vector<Displacement> found = displacements<D>(context, fixed, moving, keypoints, tree, stage);
    clock.done("searches on the tree");

    points.clear();
    PointPairs<D> splinePairs; // in the fixed image's world, before `initial`
    for (std::size_t i = 0; i < keypoints.size(); ++i) {
      Vec<D> from, to;
      for (std::size_t d = 0; d < D; ++d) {
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
    dropOutliers<D>(context, scene, points);
    const bool isLast = &stage == &stages<D>.back();
    if (isLast)
      dropUnlike<D>(context, fixed, moving, keypoints, found, stage.patchRadius, points, log);
    clock.done("agreement");
    PointPairs<D> kept;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].dropped.empty()) {
        kept.fixedMm.push_back(splinePairs.fixedMm[i]);
        kept.movingMm.push_back(splinePairs.movingMm[i]);
      }
    reportStage(kept.fixedMm.size(), points.size(), log);
    if (!isLast) {
      spline = std::make_unique<StageSpline<D>>(context, kept, grid);
      clock.done("spline");
    }
  }
  return points;
}

TESSERA_INSTANTIATE_FUNCTIONS(trackBySelfSimilarity<D>);

}
