#include "Tools/Landmarks/Find.h"

#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Landmarks/Keypoints.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Tools/Common/GpuRatesFile.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/StandardOutput.h"
#include "Tools/Landmarks/Tracking.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr int cubeOfDetection = 6; // voxels

std::string pointsText(const std::vector<Vec<3>>& pointsMm)
{
  std::string text = "point\n" + std::to_string(pointsMm.size()) + "\n";
  char line[200];
  for (const Vec<3>& point : pointsMm) {
    std::snprintf(line, sizeof line, "%.6f %.6f %.6f\n", point[0], point[1], point[2]);
    text += line;
  }
  return text;
}

double spacingFor(const FindOptions& options, const LoadedSide& fixed)
{
  const double spacingMm = options.spacingMm.value_or(spacingOf(fixed.image->geometry));
  const ImageGeometry<3>& grid = fixed.image->geometry;
  double voxels = 1;
  for (std::size_t d = 0; d < 3; ++d)
    voxels *= static_cast<double>(grid.size[d]) * grid.spacingMm[d] / spacingMm + 1;
  if (voxels > 2e9)
    throw Error(ExitCode::usage,
                "command line: --spacing: more than 2e9 voxels on this image. Allowed: a wider "
                "spacing.");
  return spacingMm;
}

/// The device that tracks. Throws Error(device) if the device that is asked for cannot.
Context contextFor(const FindOptions& options, const TrackingScene& scene, RunLog& log)
{
  DeviceChoice choice = chooseDevice(options.device, "--device", "");
  Context context = makeContext(choice.device, options.threads);
  if (context.onCuda())
    if (const std::string why = options.method == "sest" ? whyTensorsNotOnCuda(context, scene)
                                                         : whySelfSimilarityNotOnCuda(context, scene);
        !why.empty()) {
      if (options.device != "auto")
        throw Error(ExitCode::device, "--device " + options.device + ": " + why + ". Allowed: cpu, auto.");
      choice = {Device{}, "cpu: " + why};
      context = makeContext(choice.device, options.threads);
    }
  log.info("Device: " + choice.reason + ", " + std::to_string(options.threads) + " threads.");
  knowGpu(context, log);
  return context;
}

Json jsonOf(const FindOptions& options, const TrackingScene& scene, const std::vector<TrackedPoint>& points,
            std::size_t kept)
{
  Json list = Json::array();
  for (const TrackedPoint& point : points)
    list.push_back({{"fixedMm", point.fixedMm},
                    {"movingMm", point.movingMm},
                    {"backwardMm", point.backwardMm},
                    {"weight", point.weight},
                    {"dropped", point.dropped.empty() ? Json() : Json(point.dropped)}});
  return {{"method", options.method},
          {"spacingMm", scene.spacingMm},
          {"keypoints", points.size()},
          {"kept", kept},
          {"points", std::move(list)}};
}

}

int detect(const FindOptions& options, RunLog& log)
{
  const LoadedSide fixed = loadSide("-f", options.fixed, "-fMask", options.fixedMask, options.threads, log);
  Context context{Device{}, options.threads};
  const ImageGeometry<3> grid = workingGrid(fixed, spacingFor(options, fixed), 0);
  const ImagePointer<3> image = sampledOn(context, grid, *fixed.image, {});
  std::vector<Vec<3>> pointsMm;
  const std::vector<std::uint8_t> mask = maskOn(context, grid, fixed);
  for (const Voxel& voxel : FoerstnerKeypoints(context, image, mask).inCubes(context, cubeOfDetection))
    pointsMm.push_back(grid.pointFromIndex()(
        Vec<3>{static_cast<double>(voxel[0]), static_cast<double>(voxel[1]), static_cast<double>(voxel[2])}));
  if (pointsMm.empty())
    throw Error(ExitCode::registrationFailed,
                "-f: no keypoint was found. Allowed: an image with structure in its mask.");
  writeTextFile(options.output, pointsText(pointsMm));
  putStandardOutput(std::to_string(pointsMm.size()) + " keypoints.\n");
  return 0;
}

namespace {

void requireOneGrid(const std::vector<std::string>& phases)
{
  const ImageGeometry<3> first = geometryOf<3>(readImageHeader(phases.front()));
  for (const std::string& path : phases)
    if (geometryOf<3>(readImageHeader(path)) != first)
      throw Error(ExitCode::usage, "-m: " + path + ": another grid than " + phases.front()
                                       + ". Allowed: phases of one series, on one grid.");
}

void writeLandmarks(const FindOptions& options, std::size_t phase, const TrackingScene& scene,
                    const std::vector<TrackedPoint>& points, const PointPairs<3>& kept)
{
  const std::string folder = prepareOutputFolder(folderOf(options, phase));
  std::string weights;
  char number[40];
  for (const double weight : kept.weights) {
    std::snprintf(number, sizeof number, "%.6g\n", weight);
    weights += number;
  }
  writeTextFile(folder + "fixed.txt", pointsText(kept.fixedMm));
  writeTextFile(folder + "moving.txt", pointsText(kept.movingMm));
  writeTextFile(folder + "weights.txt", weights);
  writeTextFile(folder + "matches.json", jsonOf(options, scene, points, kept.fixedMm.size()).dump(1) + "\n");
  putStandardOutput(std::to_string(kept.fixedMm.size()) + " landmarks of " + std::to_string(points.size())
                    + " keypoints.\n");
}

}

int track(const FindOptions& options, RunLog& log)
{
  Registry registry;
  registerComponents(registry);
  TrackingScene scene;
  scene.fixed = loadSide("-f", options.fixed, "-fMask", options.fixedMask, options.threads, log);
  const auto loadPhase = [&](std::size_t phase) {
    scene.moving =
        loadSide("-m", options.moving[phase], "-mMask",
                 options.movingMasks.empty() ? "" : options.movingMasks[phase], options.threads, log);
  };
  loadPhase(0);
  requireOneGrid(options.moving);
  if (!options.initial.empty())
    scene.initial = withContext("-t0", [&] {
      return readTransformChain<3>(options.initial, registry,
                                   [&log](const std::string& line) { log.warning(line); });
    });
  scene.spacingMm = spacingFor(options, scene.fixed);
  scene.toleranceMm = options.toleranceMm;
  scene.reachVoxels = options.reachVoxels;
  prepareOutputFolder(options.output);
  Context context = contextFor(options, scene, log);
  for (std::size_t phase = 0; phase < options.moving.size(); ++phase) {
    if (phase > 0) {
      log.info("Phase " + std::to_string(phase + 1) + ": " + options.moving[phase]);
      loadPhase(phase);
    }
    const std::vector<TrackedPoint> points = options.method == "sest"
                                                 ? trackByStructureTensors(context, scene, log)
                                                 : trackBySelfSimilarity(context, scene, log);
    PointPairs<3> kept;
    for (const TrackedPoint& point : points)
      if (point.dropped.empty()) {
        kept.fixedMm.push_back(point.fixedMm);
        kept.movingMm.push_back(point.movingMm);
        kept.weights.push_back(point.weight);
      }
    writeLandmarks(options, phase, scene, points, kept);
    if (phase + 1 < options.moving.size())
      scene.initial = std::make_shared<const TransformChain<3>>(smoothingSpline(context, kept));
  }
  return 0;
}

}
