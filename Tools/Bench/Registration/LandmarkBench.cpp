#include "Tools/Bench/Benches.h"

#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineBatch.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Landmarks/StructureTensorSearch.h"
#include "Core/Image/Landmarks/TreeRegularization.h"
#include "Core/Image/Scores/ImageScores.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Tools/Bench/BenchClock.h"

#include <cmath>

namespace tessera {
namespace {

double uniform(std::uint32_t number, std::uint32_t of, double low, double high)
{
  return low + (high - low) * unitUniform(randomWords(Draw{1}, number, of)[0]);
}

constexpr Size<3> trackedSize{256, 256, 94};
constexpr std::array<int, 3> plantedShift{5, -3, 2};

/// Speed-ups of Wu et al., IEEE TPDS 2019, figures 2 to 4, over one thread of a Xeon E5-2620.
constexpr const char* publishedSpeedups = "80 (C2050), 100 (K20c), 200 (M5000), 800 (P100)";

/// Smoothed noise of a large lattice, from `shift` on.
ImagePointer<3> noise(const Context& context, const Size<3>& size, const std::array<int, 3>& shift)
{
  auto image = std::make_shared<Image<3>>();
  image->geometry.size = size;
  image->geometry.spacingMm = {1, 1, 1};
  image->voxels.resize(image->geometry.voxelCount());
  forEachChunk(context, size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x)
        image->voxels[x + size[0] * (y + size[1] * z)] = static_cast<float>(
            randomWords(
                Draw{2},
                static_cast<std::uint32_t>(x + 16 - static_cast<std::size_t>(shift[0] + 8)
                                           + 1024 * (y + 16 - static_cast<std::size_t>(shift[1] + 8))),
                static_cast<std::uint32_t>(z + 16 - static_cast<std::size_t>(shift[2] + 8)))[0]
            % 2000);
  });
  Context onCpu = context.onCpu();
  *image = smoothRecursively<3>(onCpu, *image, {1.2, 1.2, 1.2});
  return image;
}

std::vector<Voxel> keypointsOf(std::uint32_t count)
{
  std::vector<Voxel> keypoints;
  for (std::uint32_t i = 0; i < count; ++i) {
    Voxel voxel;
    for (std::uint32_t d = 0; d < 3; ++d)
      voxel[d] = static_cast<int>(uniform(i, d + 10, 24, static_cast<double>(trackedSize[d]) - 24));
    keypoints.push_back(voxel);
  }
  return keypoints;
}

/// The search alone, and with the making of both images on the context's device, which on CUDA has the
/// copies.
struct TrackingTimes {
  BenchTimes search, whole;
  std::vector<LeastCost> found;
};

TrackingTimes timesOfTracking(Context& context, BenchClock& clock, std::size_t repeats,
                              const std::array<ImagePointer<3>, 2>& images,
                              const std::vector<Voxel>& keypoints)
{
  const StructureTensorImage here(context, images[0]), there(context, images[1]);
  TrackingTimes times;
  const auto search = [&](const StructureTensorImage& a, const StructureTensorImage& b) {
    times.found = searchStructureTensors(context, a, b, keypoints, keypoints, structuretensors::Window{});
  };
  const auto again = [&] { search(here, there); };
  times.search = context.onCuda() ? clock.time(again) : timesOfLongRuns(repeats, again);
  times.whole = timesOfLongRuns(repeats, [&] {
    search(StructureTensorImage(context, images[0]), StructureTensorImage(context, images[1]));
  });
  return times;
}

double missedShifts(const std::vector<LeastCost>& found)
{
  double missed = 0;
  for (const LeastCost& place : found)
    for (std::size_t d = 0; d < 3; ++d)
      if (std::lround(place.displacement[d]) != plantedShift[d]) {
        ++missed;
        break;
      }
  return missed;
}

/// Few landmarks, as experts mark them, and thousands, beside one thread of the CPU.
BenchTable measureTracking(Context& context, BenchClock& clock, std::size_t repeats,
                           std::vector<BenchResult>& results)
{
  const std::array<ImagePointer<3>, 2> images{noise(context, trackedSize, {0, 0, 0}),
                                              noise(context, trackedSize, plantedShift)};
  BenchTable table{
      "Figures 2 to 4: times faster than one thread of this machine, landmarks tracked by structure tensors",
      {{"landmarks", "%.0f"}, {"search", "%.1f"}, {"with both images", "%.1f"}, {"document"}},
      {}};
  Context oneThread{{}, 1};
  for (const std::uint32_t count : {300u, 4000u}) {
    const std::vector<Voxel> keypoints = keypointsOf(count);
    const TrackingTimes times = timesOfTracking(context, clock, repeats, images, keypoints),
                        alone = timesOfTracking(oneThread, clock, 1, images, keypoints);
    const std::string name = std::to_string(count) + " landmarks, 25x13x17 places, 256x256x94";
    const auto candidates = static_cast<double>(
        keypoints.size() * static_cast<std::size_t>(structuretensors::Window{}.candidateCount()));
    BenchResult search = measuredRow(context, name, "sest: search", times.search, candidates, 0);
    search.mismatches = missedShifts(times.found);
    search.ratio = alone.search.ms / times.search.ms;
    results.push_back(search);
    BenchResult whole = measuredRow(context, name, "sest: both images, search", times.whole, candidates, 0);
    whole.ratio = alone.whole.ms / times.whole.ms;
    results.push_back(whole);
    table.rows.push_back({1.0 * count, *search.ratio, *whole.ratio, publishedSpeedups});
  }
  return table;
}

/// The parts of a stage of `track --method mind` on an image of a lung: keypoints, descriptors, the search
/// and the tree.
void measureSelfSimilarity(Context& context, std::size_t repeats, std::vector<BenchResult>& results)
{
  const Size<3> size = context.onCuda() ? Size<3>{512, 512, 121} : Size<3>{128, 128, 64};
  const ImagePointer<3> image = noise(context, size, {0, 0, 0});
  const auto voxels = static_cast<double>(image->geometry.voxelCount());
  const std::vector<std::uint8_t> mask(image->voxels.size(), 1);
  const auto measure = [&](const std::string& method, double items, const std::function<void()>& work) {
    results.push_back(
        measuredRow(context, extentsName(size), "mind: " + method, timesOfLongRuns(repeats, work), items, 0));
  };
  measure("keypoints", voxels, [&] { FoerstnerKeypoints(context, image, mask).inCubes(context, 6); });
  measure("descriptors of an image", voxels, [&] { const DescribedImage<3> described(context, image); });
  const DescribedImage<3> described(context, image);
  for (const auto& [count, grid] : {std::pair{2000u, DisplacementGrid{16, 2}},
                                    {8000u, DisplacementGrid{8, 1}},
                                    {8000u, DisplacementGrid{3, 1}}}) {
    std::vector<Voxel> keypoints;
    std::vector<Vec<3>> points;
    for (std::uint32_t i = 0; i < count / (context.onCuda() ? 1 : 10); ++i) {
      Voxel voxel;
      Vec<3> point;
      for (std::uint32_t d = 0; d < 3; ++d) {
        point[d] = uniform(i, d + 40, 0, static_cast<double>(size[d]));
        voxel[d] = static_cast<int>(point[d]);
      }
      keypoints.push_back(voxel);
      points.push_back(point);
    }
    const std::string name = std::to_string(keypoints.size()) + " keypoints, reach "
                             + std::to_string(grid.reach) + " in steps of " + std::to_string(grid.step);
    const auto items = static_cast<double>(keypoints.size() * grid.count());
    Tree tree;
    measure(name + ", spanning tree", items,
            [&] { tree = minimumSpanningTree(points, std::vector<double>(points.size())); });
    measure(name + ", search on the tree", items,
            [&] { searchOnTree(context, described, described, keypoints, keypoints, tree, grid, 3, 10); });
  }
}

/// Two images compared by all scores, from host memory.
void measureComparison(Context& context, std::size_t repeats, std::vector<BenchResult>& results)
{
  const Size<3> size = context.onCuda() ? Size<3>{355, 355, 356} : Size<3>{128, 128, 64};
  const ImagePointer<3> a = noise(context, size, {0, 0, 0}), b = noise(context, size, {1, 0, 0});
  const BenchTimes times = timesOfLongRuns(repeats, [&] { imageScores<3>(context, *a, *b, {}, 2000); });
  results.push_back(measuredRow(context, extentsName(size), "images compared", times,
                                static_cast<double>(a->geometry.voxelCount()), 8));
}

/// Landmarks in the middle of a volume, moved by a smooth field and noise.
struct Pairs {
  SplineModel<3> model;
  std::vector<double> movingMm;

  Pairs(std::size_t count, const std::array<int, 3>& volumeMm)
  {
    for (std::uint32_t i = 0; i < count; ++i) {
      Vec<3> p;
      for (std::uint32_t d = 0; d < 3; ++d)
        p[d] = uniform(i, d, 0.1 * volumeMm[d], 0.9 * volumeMm[d]);
      model.landmarksMm.push_back(p);
      for (std::uint32_t d = 0; d < 3; ++d)
        movingMm.push_back(p[d] + 8 * std::sin(0.02 * p[(d + 1) % 3]) * std::cos(0.015 * p[(d + 2) % 3])
                           + uniform(i, d + 20, -0.9, 0.9));
    }
  }
};

void measureFit(Context& context, std::size_t count, std::size_t repeats, std::vector<BenchResult>& results)
{
  const Pairs pairs(count, {464, 464, 464});
  const BenchTimes times =
      timesOfLongRuns(repeats, [&] { splineVectors<3>(context, pairs.model, pairs.movingMm).value(); });
  results.push_back(measuredRow(context, "fit of " + std::to_string(count) + " landmarks", "Cholesky", times,
                                static_cast<double>(count),
                                static_cast<double>(count * count * sizeof(double))));
}

/// Mean and largest error of a field at some of its voxels.
void addErrors(BenchResult& result, const SplineOfLandmarks<3>& spline, const ImageGeometry<3>& lattice,
               const std::function<Vec<3>(std::size_t)>& displacementAt)
{
  constexpr std::uint32_t voxels = 4000;
  result.meanError = result.largestError = 0;
  for (std::uint32_t i = 0; i < voxels; ++i) {
    Vec<3> pointMm;
    std::size_t voxel = 0, stride = 1;
    for (std::uint32_t d = 0; d < 3; ++d) {
      const auto index =
          static_cast<std::size_t>(uniform(i, d + 30, 0, static_cast<double>(lattice.size[d])));
      pointMm[d] = static_cast<double>(index);
      voxel += stride * index;
      stride *= lattice.size[d];
    }
    const Vec<3> mapped = spline(pointMm), found = displacementAt(voxel);
    double squared = 0;
    for (std::size_t d = 0; d < 3; ++d)
      squared += std::pow(found[d] - (mapped[d] - pointMm[d]), 2);
    *result.meanError += std::sqrt(squared) / voxels;
    result.largestError = std::max(*result.largestError, std::sqrt(squared));
  }
}

void measureField(Context& context, BenchClock& clock, const std::array<int, 3>& volume, std::size_t count,
                  std::optional<double> smoothing, std::size_t repeats, std::vector<BenchResult>& results)
{
  Pairs pairs(count, volume);
  Context onCpu = context.onCpu();
  if (smoothing)
    pairs.movingMm = smoothedLandmarks<3>(onCpu, pairs.model, pairs.movingMm, {}, smoothing)->movingMm;
  const std::vector<double> vectors = splineVectors<3>(onCpu, pairs.model, pairs.movingMm).value();
  const SplineOfLandmarks<3> spline{pairs.model.kernel, pairs.model.alpha(), static_cast<int>(count),
                                    pairs.model.landmarksMm.front().data(), vectors.data()};
  ImageGeometry<3> lattice;
  for (std::size_t d = 0; d < 3; ++d) {
    lattice.size[d] = static_cast<std::size_t>(volume[d]);
    lattice.spacingMm[d] = 1;
  }
  const auto voxels = static_cast<double>(lattice.voxelCount());
  const std::string name =
      extentsName(volume) + ", " + std::to_string(count) + " landmarks" + (smoothing ? ", smoothed" : "");
  std::vector<float> field(3 * lattice.voxelCount());
  const auto add = [&](const std::string& method, const BenchTimes& times) {
    BenchResult result = measuredRow(context, name, method, times, voxels, 12 * voxels);
    addErrors(result, spline, lattice, [&](std::size_t v) {
      return Vec<3>{field[3 * v], field[3 * v + 1], field[3 * v + 2]};
    });
    results.push_back(result);
  };
  if (const auto plan = planSplineField(spline, lattice.pointFromIndex(), lattice.size)) {
    const std::string method = std::string("polynomials of ") + std::to_string(plan->nodes) + " nodes, "
                               + (plan->isSingle ? "single" : "double");
    if (context.onCuda()) {
      Buffer<double> landmarksMm, weights;
      landmarksMm.fromHost(context, {spline.landmarksMm, 3 * count});
      weights.fromHost(context, vectors);
      SplineOfLandmarks<3> there = spline;
      there.landmarksMm = landmarksMm.span().data();
      there.vectors = weights.span().data();
      Buffer<float> onCuda(context, field.size());
      const BenchTimes times = clock.time(
          [&] { splineFieldOnCuda(context, *plan, there, 0, lattice.size[2], onCuda.span().data()); });
      field = onCuda.toHost(context);
      add(method, times);
    } else
      add(method, timesOfLongRuns(repeats, [&] { splineFieldOnCpu(context, *plan, spline, field); }));
  }
  if (!context.onCuda())
    add("rows, double", timesOfLongRuns(repeats, [&] {
          forEachVoxelBatch<3>(context, lattice, [&](std::size_t first, PointBatch<3>& points) {
            PointBatch<3> out;
            spline::map<3>(spline, points.list(), out.out());
            for (std::size_t d = 0; d < 3; ++d)
              for (std::size_t i = 0; i < points.count; ++i)
                field[3 * (first + i) + d] = static_cast<float>(out.mm[d][i] - points.mm[d][i]);
          });
        }));
}

}

BenchReport landmarkBench(Context& context, const LatticeSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  clock.warmUp();
  std::vector<BenchResult> results;
  const BenchTable speedups = measureTracking(context, clock, settings.repeats, results);
  measureSelfSimilarity(context, settings.repeats, results);
  measureComparison(context, settings.repeats, results);
  for (const std::size_t count : {1000u, 2000u, 4000u})
    measureFit(context, count, settings.repeats, results);
  for (const std::array<int, 3>& volume : settings.volumes)
    for (const std::size_t count : {300u, 2000u, 4000u})
      for (const std::optional<double> smoothing : {std::optional<double>(), std::optional<double>(100)})
        measureField(context, clock, volume, count, smoothing, settings.repeats, results);
  return {results, {speedups}};
}

}
