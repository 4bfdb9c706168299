#include "Tools/Register/StageDevice.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Registration/Stage/DeviceSupport.h"

#include <cmath>

namespace tessera {
namespace {

/// The device that was asked for, and where: "--device", or a line of the parameter file.
struct DeviceRequest {
  std::string text, where;
};

DeviceRequest requestOf(const RegisterOptions& options, const StageSettings& settings)
{
  return options.device.empty() ? DeviceRequest{settings.device(), settings.whereDevice()}
                                : DeviceRequest{options.device, "--device"};
}

/// The first level that does not fit; nothing if all do.
std::string misfit(const std::vector<LevelPlan>& plans, const std::string& device)
{
  for (std::size_t level = 0; level < plans.size(); ++level)
    if (!plans[level].fits())
      return planText(plans[level], level, device);
  return "";
}

/// The input of a stage, with images and masks without voxels, and points that all lie at the origin.
template <int D>
StageInput<D> inputOf(const InputHeaders& headers, const StageSettings& settings, std::size_t pointPairs)
{
  const bool turned = !settings.useDirectionCosines();
  const auto geometry = [&](const ImageHeader& header) {
    const ImageGeometry<D> asWritten = geometryOf<D>(header);
    return turned ? withIdentityDirection<D>(asWritten) : asWritten;
  };
  StageInput<D> input;
  for (const auto& [from, to] :
       {std::pair{&headers.fixed, &input.fixed}, std::pair{&headers.moving, &input.moving}})
    for (const ImageHeader& header : *from)
      to->push_back(std::make_shared<Image<D>>(Image<D>{geometry(header), {}}));
  for (const auto& [from, to] : {std::pair{&headers.fixedMasks, &input.fixedMasks},
                                 std::pair{&headers.movingMasks, &input.movingMasks}})
    for (const ImageHeader& header : *from)
      to->push_back(std::make_shared<Mask<D>>(geometry(header), std::vector<std::uint8_t>{}));
  input.points.fixedMm.resize(pointPairs);
  input.points.movingMm.resize(pointPairs);
  input.hasPoints = pointPairs > 0;
  return input;
}

/// Plans a stage's levels on the CUDA device that it was given. Where one does not fit, the stage goes to the
/// CPU if it is on "auto".
template <int D>
void fitStage(const Registry& registry, const RegisterOptions& options, CheckedStage<D>& stage,
              const StageInput<D>& input, const DeviceChoice& choice)
{
  stage.prepared.choice = choice;
  if (choice.device.kind == DeviceKind::cpu)
    return;
  const DeviceRequest request = requestOf(options, stage.settings);
  const double usable = usableDeviceMemory(makeContext(choice.device, options.threads));
  stage.prepared.plans = planStage<D>(registry, stage.prepared, input, usable);
  const std::string why = misfit(stage.prepared.plans, deviceName(choice.device));
  if (why.empty())
    return;
  if (request.text != "auto")
    throw Error(ExitCode::outOfMemory,
                request.where + ": \"" + request.text + "\": " + why
                    + ". Allowed: coarser levels (ImagePyramidSchedule), fewer samples (ImageSampler, "
                      "NumberOfSpatialSamples), a wider "
                      "grid spacing, more with --max-device-memory if that was given, or \"cpu\".");
  stage.prepared.choice = {{DeviceKind::cpu, 0}, "cpu: " + why};
  stage.prepared.plans.clear();
}

/// Logs what each level needs of the CUDA device that the stage was given. If there is no device, but a limit
/// of its memory was given, logs what each level would need of one.
template <int D>
void logNeed(const Registry& registry, const RegisterOptions& options, const CheckedStage<D>& stage,
             const StageInput<D>& input, RunLog& log)
{
  std::vector<LevelPlan> plans = stage.prepared.plans;
  std::string device = deviceName(stage.prepared.choice.device);
  if (stage.prepared.choice.device.kind == DeviceKind::cpu) {
    const bool hasDevice = stage.wanted.device.kind == DeviceKind::cuda;
    if (requestOf(options, stage.settings).text != "auto"
        || (!hasDevice && !std::isfinite(options.maxDeviceMemory))
        || !whyStageNotOnCuda<D>(stage.prepared, input.initial).empty())
      return;
    plans = planStage<D>(registry, stage.prepared, input, deviceMemoryLimit());
    device = "a CUDA device";
  }
  for (std::size_t level = 0; level < plans.size(); ++level)
    log.info(stage.text.path + ": " + planText(plans[level], level, device)
             + (plans[level].fits() ? "." : ": it does not fit."));
}

/// Logs about how much memory of the host a stage takes at most, whatever its device is.
void logHostNeed(const InputHeaders& headers, RunLog& log)
{
  const auto voxels = [](const std::vector<ImageHeader>& images) {
    double count = 0;
    for (const ImageHeader& header : images)
      count += static_cast<double>(header.voxelCount());
    return count;
  };
  const double available = availableMemoryBytes();
  const double images = sizeof(float) * (voxels(headers.fixed) + voxels(headers.moving)),
               masks = voxels(headers.fixedMasks) + voxels(headers.movingMasks),
               coefficients = sizeof(float) * voxels(headers.moving),
               bytes = 2 * images + 2 * masks + coefficients;
  log.info("Memory of this machine: about " + memoryText(bytes) + " at most (images and masks "
           + memoryText(images + masks) + ", as much for those of a level, " + memoryText(coefficients)
           + " for interpolation)" + (std::isfinite(available) ? "; free are " + memoryText(available) : "")
           + ".");
  if (bytes > available)
    log.warning("memory: this run may need more than is free.");
}

}

template <int D>
void chooseStageDevices(const Registry& registry, const RegisterOptions& options,
                        std::vector<CheckedStage<D>>& stages, const InputHeaders& headers,
                        std::size_t pointPairs, const std::shared_ptr<const TransformChain<D>>& initial,
                        RunLog& log)
{
  if (options.checkOnly)
    logHostNeed(headers, log);
  std::shared_ptr<const TransformChain<D>> before = initial;
  for (CheckedStage<D>& stage : stages) {
    StageInput<D> input = inputOf<D>(headers, stage.settings, pointPairs);
    input.initial = before;
    const DeviceRequest request = requestOf(options, stage.settings);
    stage.wanted =
        chooseDevice(request.text, request.where, whyStageNotOnCuda<D>(stage.prepared, input.initial));
    fitStage<D>(registry, options, stage, input, stage.wanted);
    if (options.checkOnly)
      logNeed<D>(registry, options, stage, input, log);
    if (stage.number + 1 < stages.size() && request.text != "cpu")
      before = chainAfter<D>(stage.prepared, input);
  }
}

template <int D>
void planAsRead(const Registry& registry, const RegisterOptions& options, CheckedStage<D>& stage,
                const StageInput<D>& input)
{
  if (stage.number > 0 || !input.fixedMasks.empty() || !input.movingMasks.empty())
    fitStage<D>(registry, options, stage, input, stage.wanted);
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void chooseStageDevices<D>(const Registry&, const RegisterOptions&,                               \
                                      std::vector<CheckedStage<D>>&, const InputHeaders&, std::size_t,       \
                                      const std::shared_ptr<const TransformChain<D>>&, RunLog&);             \
  template void planAsRead<D>(const Registry&, const RegisterOptions&, CheckedStage<D>&,                     \
                              const StageInput<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
