#include "Tools/Landmarks/FindOptions.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/ContextChoice.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/FolderLock.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Landmarks/Keypoints.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Tools/Common/BlockSizesFile.h"
#include "Tools/Common/CalibrationFile.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/StandardOutput.h"
#include "Tools/Landmarks/Tracking.h"

#include <nlohmann/json.hpp>

#include <future>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr int cubeOfDetection = 6; // voxels

template <int D>
std::string pointsText(const std::vector<Vec<D>>& pointsMm)
{
  std::string text = "point\n" + std::to_string(pointsMm.size()) + "\n";
  for (const Vec<D>& point : pointsMm)
    text += joined(point, " ", [](double mm) { return decimals(mm, 6); }) + "\n";
  return text;
}

template <int D>
double spacingFor(const FindOptions& options, const LoadedSide<D>& fixed)
{
  const double spacingMm = options.spacingMm.value_or(spacingOf(fixed.image->geometry));
  const ImageGeometry<D>& grid = fixed.image->geometry;
  double voxels = 1;
  for (std::size_t d = 0; d < D; ++d)
    voxels *= static_cast<double>(grid.size[d]) * grid.spacingMm[d] / spacingMm + 1;
  if (voxels > 2e9)
    failCommandLine("--spacing", "more than 2e9 voxels on this image", "a wider spacing");
  return spacingMm;
}

/// Why a CUDA device is not looked for; empty: it is.
template <int D>
std::string whyNoCuda(const FindOptions& options, const TrackingScene<D>& scene)
{
  constexpr double cpuSecondsOfVoxel = 6e-6; // measured on lungs of 4 and 32 million voxels, by one thread
  if (D == 2)
    return "2D images are tracked on the CPU";
  if (options.device != "auto")
    return "";
  const ImageGeometry<D> grid = workingGrid(scene.fixed, scene.spacingMm, 0);
  return whyNotWorthCuda(cpuSecondsOfVoxel * static_cast<double>(grid.voxelCount()) / options.threads);
}

/// Why the context's CUDA device does not track; empty if it can.
template <int D>
std::string whyNotOnCuda(const FindOptions& options, const TrackingScene<D>& scene, const Context& context)
{
  if constexpr (D == 3)
    return options.method == "sest" ? whyTensorsNotOnCuda(context, scene)
                                    : whySelfSimilarityNotOnCuda(context, scene);
  return "";
}

/// The device that tracks. Throws Error(device) if the device that is asked for cannot.
template <int D>
Context contextFor(const FindOptions& options, const TrackingScene<D>& scene, Log& log)
{
  const ContextChoice choice =
      chooseContext(options.device, "--device", options.threads, whyNoCuda<D>(options, scene),
                    [&](const Context& context) { return whyNotOnCuda<D>(options, scene, context); });
  log.info("Device: " + choice.reason + ", " + threadsText(options.threads) + ".");
  useStoredBlockSizes(choice.context, log);
  return choice.context;
}

template <int D>
Json jsonOf(const FindOptions& options, const TrackingScene<D>& scene,
            const std::vector<TrackedPoint<D>>& points, std::size_t kept)
{
  Json list = Json::array();
  for (const TrackedPoint<D>& point : points)
    list.push_back({{"fixedMm", point.fixedMm},
                    {"movingMm", point.movingMm},
                    {"backwardMm", point.backwardMm},
                    {"weight", point.weight},
                    {"difference", point.difference},
                    {"dropped", point.dropped.empty() ? Json() : Json(point.dropped)}});
  return {{"method", options.method},
          {"spacingMm", scene.spacingMm},
          {"keypoints", points.size()},
          {"kept", kept},
          {"points", std::move(list)}};
}

/// Says why there are fewer keypoints than --keypoints allows.
void tellFewer(const FindOptions& options, std::size_t found, double spacingMm)
{
  if (options.maxKeypoints && found < *options.maxKeypoints)
    putStandardOutput("--keypoints allows " + std::to_string(*options.maxKeypoints)
                      + ": each keypoint is the most distinctive voxel of its cube on the working grid of "
                      + significant(spacingMm, 3)
                      + " mm, and the next smaller cubes leave too many, or cannot be smaller. A smaller "
                        "--spacing finds more.\n");
}

template <int D>
int detectIn(const FindOptions& options, Log& log)
{
  const LoadedSide<D> fixed =
      loadSide<D>("-f", options.fixed, "-fMask", options.fixedMask, options.reading, options.threads, log);
  Context context{Device{}, options.threads};
  const WorkingImage<D> working(context, fixed, spacingFor(options, fixed), 0);
  std::vector<Vec<D>> pointsMm;
  const FoerstnerKeypoints keypoints(context, working.image, working.mask);
  const std::vector<Voxel> found = options.maxKeypoints
                                       ? keypoints.inCubes(context, cubeOfDetection, *options.maxKeypoints)
                                       : keypoints.inCubes(context, cubeOfDetection);
  for (const Voxel& voxel : found) {
    Vec<D> index;
    for (std::size_t d = 0; d < D; ++d)
      index[d] = voxel[d];
    pointsMm.push_back(working.image->geometry.pointFromIndex()(index));
  }
  if (pointsMm.empty())
    failAs(ExitCode::registrationFailed, "-f", "no keypoint was found",
           "an image with structure in its mask");
  writeTextFile(options.output, pointsText<D>(pointsMm));
  putStandardOutput(std::to_string(pointsMm.size()) + " keypoints.\n");
  tellFewer(options, pointsMm.size(), spacingFor(options, fixed));
  return 0;
}

template <int D>
void requireOneGrid(const std::vector<std::string>& phases, const ReadingOptions& reading)
{
  const ImageGeometry<D> first = geometryOf<D>(readImageHeader(phases.front(), reading));
  for (const std::string& path : phases)
    if (geometryOf<D>(readImageHeader(path, reading)) != first)
      failToRead("-m: " + path, "another grid than " + phases.front(), "phases of one series, on one grid");
}

template <int D>
void writeLandmarks(const FindOptions& options, std::size_t phase, const TrackingScene<D>& scene,
                    const std::vector<TrackedPoint<D>>& points, const PointPairs<D>& kept)
{
  const std::string folder = prepareOutputFolder(folderOf(options, phase));
  std::string weights;
  for (const double weight : kept.weights)
    weights += significant(weight, 6) + "\n";
  writeTextFile(folder + "fixed.txt", pointsText<D>(kept.fixedMm));
  writeTextFile(folder + "moving.txt", pointsText<D>(kept.movingMm));
  writeTextFile(folder + "weights.txt", weights);
  writeTextFile(folder + "matches.json", jsonOf(options, scene, points, kept.fixedMm.size()).dump(1) + "\n");
  putStandardOutput(std::to_string(kept.fixedMm.size()) + " landmarks of " + std::to_string(points.size())
                    + " keypoints.\n");
  tellFewer(options, points.size(), scene.spacingMm);
}

template <int D>
std::vector<TrackedPoint<D>> tracked(const FindOptions& options, Context& context,
                                     const TrackingScene<D>& scene, Log& log)
{
  if constexpr (D == 3)
    if (options.method == "sest")
      return trackByStructureTensors(context, scene, log);
  return trackBySelfSimilarity<D>(context, scene, log);
}

template <int D>
int trackIn(const FindOptions& options, Log& log)
{
  if (D == 2 && options.method == "sest")
    failCommandLine("--method sest", "-f is an image of dimension 2", "mind, or images of dimension 3");
  Registry registry;
  registerComponents(registry);
  PartClock clock(log);
  TrackingScene<D> scene;
  scene.fixed =
      loadSide<D>("-f", options.fixed, "-fMask", options.fixedMask, options.reading, options.threads, log);
  const auto loadPhase = [&](std::size_t phase) {
    scene.moving = loadSide<D>("-m", options.moving[phase], "-mMask",
                               options.movingMasks.empty() ? "" : options.movingMasks[phase], options.reading,
                               options.threads, log);
  };
  loadPhase(0);
  requireOneGrid<D>(options.moving, options.reading);
  if (!options.initial.empty())
    scene.initial = withContext("-t0", [&] {
      return readTransformChain<D>({Device{}, options.threads}, options.initial, registry,
                                   [&log](const std::string& line) { log.warning(line); });
    });
  scene.spacingMm = spacingFor(options, scene.fixed);
  scene.toleranceMm = options.toleranceMm;
  scene.reachVoxels = options.reachVoxels;
  scene.maxKeypoints = options.maxKeypoints.value_or(scene.maxKeypoints);
  prepareOutputFolder(options.output);
  const FolderLock lock(options.output);
  clock.done("reading");
  // A CUDA driver takes 0.2 s to start; the fixed image is put on the working grid meanwhile.
  auto device = std::async(std::launch::async, [&] { return contextFor(options, scene, log); });
  Context cpu{Device{}, options.threads};
  scene.working = {cpu, scene.fixed, scene.spacingMm,
                   options.method == "sest" ? marginOfStructureTensors : marginOfSelfSimilarity};
  clock.done("fixed image on the working grid");
  Context context = device.get();
  clock.done("rest of the start of the device");
  for (std::size_t phase = 0; phase < options.moving.size(); ++phase) {
    if (phase > 0) {
      log.info("Phase " + std::to_string(phase + 1) + ": " + options.moving[phase]);
      loadPhase(phase);
      clock.done("reading");
    }
    const std::vector<TrackedPoint<D>> points = tracked(options, context, scene, log);
    PointPairs<D> kept;
    for (const TrackedPoint<D>& point : points)
      if (point.dropped.empty()) {
        kept.fixedMm.push_back(point.fixedMm);
        kept.movingMm.push_back(point.movingMm);
        kept.weights.push_back(point.weight);
      }
    clock.done("tracking in all");
    writeLandmarks(options, phase, scene, points, kept);
    clock.done("writing");
    if (phase + 1 < options.moving.size())
      scene.initial = std::make_shared<const TransformChain<D>>(smoothingSpline(context, kept));
  }
  return 0;
}

/// The dimension of the fixed image. Throws Error(usage) if it is neither 2 nor 3.
int dimensionOf(const FindOptions& options)
{
  return withContext("-f", [&] {
    const int dimension = readImageHeader(options.fixed, options.reading).dimension;
    if (dimension != 2 && dimension != 3)
      failAs(ExitCode::usage, options.fixed, "an image of dimension " + std::to_string(dimension), "2 and 3");
    return dimension;
  });
}

}

int detect(const FindOptions& options, Log& log)
{
  return dimensionOf(options) == 2 ? detectIn<2>(options, log) : detectIn<3>(options, log);
}

int track(const FindOptions& options, Log& log)
{
  return dimensionOf(options) == 2 ? trackIn<2>(options, log) : trackIn<3>(options, log);
}

}
