#include "Tools/Register/StageDevice.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Stage/DeviceSupport.h"

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

template <int D>
StageExtent<D> extentOf(const InputHeaders& headers, const StageSettings& settings, std::size_t pointPairs)
{
  const bool turned = !settings.useDirectionCosines();
  const auto geometry = [&](const ImageHeader& header) {
    const ImageGeometry<D> asWritten = geometryOf<D>(header);
    return turned ? withIdentityDirection<D>(asWritten) : asWritten;
  };
  StageExtent<D> extent;
  for (const auto& [from, to] :
       {std::pair{&headers.fixed, &extent.fixed}, std::pair{&headers.moving, &extent.moving}})
    for (const ImageHeader& header : *from)
      to->push_back(geometry(header));
  for (const auto& [from, to] : {std::pair{&headers.fixedMasks, &extent.fixedMasks},
                                 std::pair{&headers.movingMasks, &extent.movingMasks}})
    for (const ImageHeader& header : *from)
      to->push_back(std::make_shared<Mask<D>>(geometry(header), std::vector<std::uint8_t>{}));
  extent.pointPairs = pointPairs;
  return extent;
}

/// Plans a stage's levels on the CUDA device that it was given. Where one does not fit, the stage goes to the
/// CPU if it is on "auto".
template <int D>
void fitStage(const Registry& registry, const RegisterOptions& options, CheckedStage<D>& stage,
              const StageExtent<D>& extent, const DeviceChoice& choice)
{
  stage.prepared.choice = choice;
  if (choice.device.kind == DeviceKind::cpu)
    return;
  const DeviceRequest request = requestOf(options, stage.settings);
  Context host{Device{}, options.threads};
  const double usable = usableDeviceMemory(makeContext(choice.device, options.threads));
  stage.prepared.plans = planStage<D>(host, registry, stage.prepared, extent, usable);
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

/// Logs what each level needs; for a stage on "auto" without a CUDA device, what it would need of one.
template <int D>
void logNeed(const Registry& registry, const RegisterOptions& options, const CheckedStage<D>& stage,
             const StageExtent<D>& extent, RunLog& log)
{
  std::vector<LevelPlan> plans = stage.prepared.plans;
  std::string device = deviceName(stage.prepared.choice.device);
  if (stage.prepared.choice.device.kind == DeviceKind::cpu) {
    if (requestOf(options, stage.settings).text != "auto"
        || !whyStageNotOnCuda<D>(stage.prepared, extent.initial).empty())
      return;
    Context host{Device{}, options.threads};
    plans = planStage<D>(host, registry, stage.prepared, extent, deviceMemoryLimit());
    device = "a CUDA device";
  }
  for (std::size_t level = 0; level < plans.size(); ++level)
    log.info(stage.text.path + ": " + planText(plans[level], level, device)
             + (plans[level].fits() ? "." : ": it does not fit."));
}

}

template <int D>
void chooseStageDevices(const Registry& registry, const RegisterOptions& options,
                        std::vector<CheckedStage<D>>& stages, const InputHeaders& headers,
                        std::size_t pointPairs, const std::shared_ptr<const TransformChain<D>>& initial,
                        RunLog& log)
{
  Context host{Device{}, options.threads};
  std::shared_ptr<const TransformChain<D>> before = initial;
  for (CheckedStage<D>& stage : stages) {
    StageExtent<D> extent = extentOf<D>(headers, stage.settings, pointPairs);
    extent.initial = before;
    extent.initialIsKnown = stage.number == 0; // in later stages, the stages before have not found it yet
    const DeviceRequest request = requestOf(options, stage.settings);
    stage.wanted =
        chooseDevice(request.text, request.where, whyStageNotOnCuda<D>(stage.prepared, extent.initial));
    fitStage<D>(registry, options, stage, extent, stage.wanted);
    if (options.checkOnly)
      logNeed<D>(registry, options, stage, extent, log);
    if (stage.number + 1 < stages.size() && request.text != "cpu")
      before = chainAfter<D>(host, stage.prepared, extent);
  }
}

template <int D>
void planAsRead(const Registry& registry, const RegisterOptions& options, CheckedStage<D>& stage,
                const StageInput<D>& input)
{
  if (stage.number > 0 || !input.fixedMasks.empty() || !input.movingMasks.empty())
    fitStage<D>(registry, options, stage, extentOf(input), stage.wanted);
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
