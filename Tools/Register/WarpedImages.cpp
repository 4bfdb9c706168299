#include "Tools/Register/WarpedImages.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/Resampling/ResultFiles.h"
#include "Core/Runs/Transforming/FromTime.h"
#include "Core/Runs/Transforming/TransformRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/StoredMachine.h"

namespace tessera {
namespace {

/// Writes images; nothing else is asked for.
template <int D>
class WarpedFiles final : public TransformSink<D> {
public:
  explicit WarpedFiles(std::string folder) : folder_(std::move(folder)) {}

  std::vector<std::string> written;

  void planned(const TransformPlan& plan) override
  {
    files_.emplace(folder_, plan.settings);
    for (const ResultToWrite& result : plan.results)
      written.push_back(result.files.front());
  }
  void describe(Context&, const TransformChain<D>&, const ImageGeometry<D>&) override {}
  void pointsMapped(const InputPoints<D>&, const MappedPoints<D>&) override {}
  void fieldMade(const FieldAskedFor&, VectorImage<D>) override {}
  void transformFound(Context&, const TransformOutput<D>&) override {}
  ResultSink<D>& images() override { return *files_; }

private:
  const std::string folder_;
  std::optional<ResultFiles<D>> files_; // once it is planned
};

TransformRequest warpingOf(const RunRequest& request)
{
  TransformRequest warping;
  warping.images = request.warped;
  warping.labels = request.warpedLabels;
  warping.lists = {"--warp"}; // so that a single result is named after its image, too
  warping.imagesOption = "--warp";
  warping.labelsOption = "--warp-labels";
  warping.reading = request.reading;
  warping.fromTime = request.fromTime;
  warping.outputFolder = request.outputFolder + "/warped";
  return warping;
}

}

void checkWarpedImages(const RunRequest& request)
{
  if (request.warped.empty() && request.warpedLabels.empty())
    return;
  const ImageHeader fixed = asPlane(headerOf(request.fixed.front(), request.reading));
  if (request.fromTime)
    requireTime(*request.fromTime, fixed.size);
  const auto& last = request.stages.back().map; // null: it could not be read
  const bool usesDirections = !last || Parameters(last, "", 3, 1).get(useDirectionCosines());
  for (const auto& [option, images] :
       {std::pair{"--warp", &request.warped}, std::pair{"--warp-labels", &request.warpedLabels}})
    for (const GivenImage& image : *images)
      withContext(option, [&] {
        const ImageHeader header = readImageHeader(image.path, request.reading);
        if (request.fromTime)
          requireAtTime(header, fixed, usesDirections);
        else if (header.dimension < fixed.dimension)
          failAs(ExitCode::usage, image.path,
                 "an image of dimension " + std::to_string(header.dimension) + ", where -f " + fixed.path
                     + " has dimension " + std::to_string(fixed.dimension),
                 "that dimension; images of one time of a series with --from-time N");
      });
  namedImages(warpingOf(request), {});
}

template <int D>
std::vector<std::string> writeWarpedImages(const Registry& registry, const RunRequest& request,
                                           const RunningStage<D>& stage, const std::string& transformFile,
                                           Log& log)
{
  TransformRequest warping = warpingOf(request);
  warping.transforms = {{transformFile}};
  warping.resultsAreShort = request.resultsAreShort;
  warping.threads = stage.host.threads;
  warping.device = request.device.empty() ? "auto" : request.device;
  warping.maxDeviceMemory = request.maxDeviceMemory;
  WarpedFiles<D> files(prepareOutputFolder(warping.outputFolder));
  const StoredMachine machine;
  const ExitCode code = TransformRun<D>(registry, warping, log, machine).execute(files, stage.host.stop);
  if (code != ExitCode::done)
    throw Error(code, "--warp: not all images could be brought to the fixed grid, as the lines above say. "
                      "Allowed: images that can be read.");
  return files.written;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(writeWarpedImages<D>);

}
