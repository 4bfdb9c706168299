#include "Tools/Register/StageDevice.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Tools/Register/StageSettings.h"

namespace tessera {
namespace {

/// Who asks for a device, and for which.
struct DeviceRequest {
  std::string text, where;
};

DeviceRequest requestOf(const RegisterOptions& options, const Parameters& parameters)
{
  const StageSettings settings(parameters);
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
StageExtent<D> extentOf(const InputHeaders& headers, const Parameters& parameters, std::size_t pointPairs)
{
  const bool turned = !StageSettings(parameters).useDirectionCosines();
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
      to->push_back({geometry(header), nullptr});
  extent.pointPairs = pointPairs;
  return extent;
}

/// What a stage on "auto" would need if it had a device.
template <int D>
void logNeed(const Registry& registry, const RegisterOptions& options, const Parameters& parameters,
             const StageExtent<D>& extent, StageDevice stage, const std::string& file, RunLog& log)
{
  std::string device = deviceName(stage.choice.device);
  if (stage.choice.device.kind == DeviceKind::cpu) {
    if (requestOf(options, parameters).text != "auto"
        || !whyStageNotOnCuda<D>(registry, parameters, extent.initial).empty())
      return;
    Context host{Device{}, options.threads};
    stage.plans = planStage<D>(host, registry, parameters, extent, deviceMemoryLimit());
    device = "a CUDA device";
  }
  for (std::size_t level = 0; level < stage.plans.size(); ++level)
    log.info(file + ": " + planText(stage.plans[level], level, device)
             + (stage.plans[level].fits() ? "." : ": it does not fit."));
}

}

template <int D>
StageDevice chooseStageDevice(const Registry& registry, const RegisterOptions& options,
                              const Parameters& parameters, const StageExtent<D>& extent)
{
  const DeviceRequest request = requestOf(options, parameters);
  const std::string withoutCuda = whyStageNotOnCuda<D>(registry, parameters, extent.initial);
  StageDevice stage{chooseDevice(request.text, request.where, withoutCuda), {}};
  if (stage.choice.device.kind == DeviceKind::cpu)
    return stage;
  Context host{Device{}, options.threads};
  const double usable = usableDeviceMemory(makeContext(stage.choice.device, options.threads));
  stage.plans = planStage<D>(host, registry, parameters, extent, usable);
  const std::string why = misfit(stage.plans, deviceName(stage.choice.device));
  if (why.empty())
    return stage;
  if (request.text == "auto")
    return {{{DeviceKind::cpu, 0}, "cpu: " + why}, {}};
  throw Error(ExitCode::outOfMemory,
              request.where + ": \"" + request.text + "\": " + why
                  + ". Allowed: coarser levels (ImagePyramidSchedule), fewer samples (ImageSampler, "
                    "NumberOfSpatialSamples), a wider "
                    "grid spacing, more with --max-device-memory if that was given, or \"cpu\".");
}

template <int D>
void checkStageDevices(const Registry& registry, const RegisterOptions& options,
                       const std::vector<StageText>& stages, const InputHeaders& headers,
                       std::size_t pointPairs, const std::shared_ptr<const TransformChain<D>>& initial,
                       RunLog& log)
{
  Context host{Device{}, options.threads};
  std::shared_ptr<const TransformChain<D>> before = initial;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Parameters parameters(stages[s].map, "", D, levelCountOf(stages[s].map));
    StageExtent<D> extent = extentOf<D>(headers, parameters, pointPairs);
    extent.initial = before;
    extent.initialIsKnown = s == 0; // of later stages it is computed by those before
    const StageDevice stage = chooseStageDevice<D>(registry, options, parameters, extent);
    if (options.checkOnly)
      logNeed<D>(registry, options, parameters, extent, stage, stages[s].path, log);
    if (s + 1 < stages.size() && requestOf(options, parameters).text != "cpu")
      before = chainAfter<D>(host, registry, parameters, extent);
  }
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageDevice chooseStageDevice<D>(const Registry&, const RegisterOptions&, const Parameters&,      \
                                            const StageExtent<D>&);                                          \
  template void checkStageDevices<D>(const Registry&, const RegisterOptions&, const std::vector<StageText>&, \
                                     const InputHeaders&, std::size_t,                                       \
                                     const std::shared_ptr<const TransformChain<D>>&, RunLog&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
