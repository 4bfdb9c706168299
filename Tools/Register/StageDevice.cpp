#include "Tools/Register/StageDevice.h"

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registration/Stage/Motion.h"
#include "Tools/Common/Process.h"
#include "Tools/Register/HostNeed.h"

#include <algorithm>
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

/// Prepares the samplers for the sizes of their levels, without voxels: throws Error(usage) for parameters
/// that do not fit these sizes.
template <int D>
void checkSamplers(const PreparedStage<D>& prepared, const StageInput<D>& input)
{
  const StageComponents<D>& components = prepared.components;
  if (components.samplers.empty() || components.fixedPyramids.empty())
    return;
  MemoryCount count;
  for (std::size_t level = 0; level < prepared.parameters.levelCount(); ++level)
    for (std::size_t term = 0; term < components.terms.size(); ++term)
      if (components.terms[term]->needsSampler()) {
        const ImageGeometry<D> geometry =
            components.fixedPyramids[std::min(term, components.fixedPyramids.size() - 1)]->geometryOfLevel(
                input.fixed[std::min(term, input.fixed.size() - 1)]->geometry, level);
        ImageSampler<D>& sampler = *components.samplers[components.samplerOf(term)];
        sampler.prepareForLevel(count.context(), std::make_shared<Image<D>>(Image<D>{geometry, {}}), nullptr,
                                level);
        sampler.endLevel();
      }
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

void logHostNeed(const HostNeed& need, RunLog& log)
{
  const double available = availableMemoryBytes();
  log.info("Memory of this machine: about " + memoryText(need.bytes()) + " at most (the program "
           + memoryText(programBytes) + ", images and masks " + memoryText(need.images) + ", "
           + memoryText(need.work) + " for " + need.largest + ")"
           + (std::isfinite(available) ? "; free are " + memoryText(available) : "") + ".");
  if (need.bytes() > available)
    log.warning("memory: this run may need more than is free.");
}

}

namespace {

/// The stages of a run, or some of them, and what they would take on each device.
struct Prediction {
  double onCpu = 0, onCuda = 0, start = 0; // onCuda: with the start

  Prediction(const Calibration& calibration, const std::vector<StageWork>& works,
             const RegisterOptions& options)
      : start(options.isCudaStarted ? 0 : calibration.cudaStartSeconds)
  {
    onCuda = start;
    for (const StageWork& work : works) {
      onCpu += cpuSeconds(calibration, work, options.threads);
      onCuda += cudaSeconds(calibration, work, options.threads);
    }
  }
};

/// The device that is predicted to be faster for the stages with "auto".
struct FasterDevice {
  bool isCpu = false;
  std::string text; // both predictions; empty: nobody has a choice
};

/// Goes by the iterations that the stages probably take. `calibration` becomes that of the GPU, if there is
/// one that may be faster.
FasterDevice fasterDevice(const std::vector<StageWork>& ofAuto, const RegisterOptions& options,
                          Calibration& calibration)
{
  const auto faster = [&] {
    const Prediction seconds(calibration, ofAuto, options);
    return FasterDevice{seconds.onCpu <= seconds.onCuda, "predicted are " + timeText(seconds.onCpu)
                                                             + " on the CPU, " + timeText(seconds.onCuda)
                                                             + " on CUDA (of it " + timeText(seconds.start)
                                                             + " to start it; " + calibration.source + ")"};
  };
  if (FasterDevice early = faster(); early.isCpu) // the driver would take longer to find a GPU
    return early;
  const DeviceChoice found = chooseDevice("auto", "--device", "");
  if (found.device.kind == DeviceKind::cpu)
    return {};
  calibration = calibrationFor(calibration, found.device);
  return faster();
}

void logTime(const std::vector<StageWork>& works, const RegisterOptions& options,
             const Calibration& calibration, const PredictedRun& run, RunLog& log)
{
  const Prediction all(calibration, works, options);
  const std::string threads = threadsText(options.threads);
  log.info("Time: " + std::string(run.mayEndEarly ? "at most " : "about ") + timeText(run.seconds) + " on "
           + (run.onCuda ? "CUDA" : "the CPU with " + threads)
           + (options.inverseToo ? ", reading, writing and the inverse not counted. "
                                 : ", reading and writing not counted. ")
           + (run.onCuda ? "The CPU with " + threads + " takes " + timeText(all.onCpu) + ", an " : "An ")
           + calibration.gpu + " takes " + timeText(all.onCuda) + ", of which " + timeText(all.start)
           + " to start it" + (builtWithCuda ? "" : "; this build has no CUDA") + ". They go by "
           + calibration.source + " (tessera-bench calibrate measures this machine).");
  log.detail("Predicted seconds: " + decimals(run.seconds, 6) + "; on the CPU " + decimals(all.onCpu, 6)
             + ", on CUDA " + decimals(all.onCuda, 6) + ", of which " + decimals(all.start, 6)
             + " to start it."); // for Testing/Benchmarks
}

}

namespace {

/// Tells the log in one line which components a stage has and where it runs.
template <int D>
void logStage(const CheckedStage<D>& stage, RunLog& log)
{
  const Parameters& parameters = stage.prepared.parameters;
  const auto named = [&](const char* role) {
    std::string all;
    for (const std::string& name : componentNames(parameters, role))
      all += (all.empty() ? "" : " + ") + name;
    return all;
  };
  const std::size_t levels = parameters.levelCount();
  log.info("Stage " + std::to_string(stage.number) + ", " + stage.text.path + ": " + named("Transform") + ", "
           + std::to_string(levels) + (levels == 1 ? " level" : " levels") + ", " + named("Metric")
           + (named("ImageSampler").empty() ? "" : ", samples by " + named("ImageSampler")) + ", "
           + named("Optimizer") + ", on " + deviceName(stage.prepared.choice.device) + ".");
}

/// An image of the same extent with at most 32 voxels along each axis, all 0.
template <int D>
ImagePointer<D> coarseImage(const ImageGeometry<D>& fine)
{
  ImageGeometry<D> coarse = fine;
  Vec<D> firstIndex;
  for (int d = 0; d < D; ++d) {
    coarse.size[d] = std::min<std::size_t>(fine.size[d], 32);
    const double step = static_cast<double>(fine.size[d]) / static_cast<double>(coarse.size[d]);
    coarse.spacingMm[d] *= step;
    firstIndex[d] = (step - 1) / 2;
  }
  coarse.originMm = fine.pointFromIndex()(firstIndex);
  return std::make_shared<Image<D>>(Image<D>{coarse, std::vector<float>(coarse.voxelCount(), 0)});
}

/// Warns if the images lie so far apart that the run would end with an error as soon as it has begun.
template <int D>
void warnOfFarImages(const CheckedStage<D>& stage, const StageInput<D>& input, RunLog& log)
{
  const auto centres = booleanParameter("AutomaticTransformInitialization", false, Arity::single, "");
  const Parameters& parameters = stage.prepared.parameters;
  if (stage.number > 0 || parameters.withLabel("Transform0").get(centres) || input.hasPoints)
    return;
  const std::shared_ptr<const TransformChain<D>> start = chainAfter<D>(stage.prepared, input);
  StageInput<D> coarse = input;
  coarse.fixed = {coarseImage<D>(input.fixed.front()->geometry)};
  const double inside = motionBetween<D>(coarse, {}, *start, *start).insideAtStart;
  if (inside < fewInside)
    log.warning("by their headers the images hardly overlap at the start: " + decimals(100 * inside, 1)
                + " % of the fixed image map into the moving one. Usual remedies: a first stage with "
                  "(AutomaticTransformInitialization \"true\"), or -t0.");
}

}

template <int D>
PredictedRun chooseStageDevices(const Registry& registry, const RegisterOptions& options,
                                std::vector<CheckedStage<D>>& stages, const InputHeaders& headers,
                                std::size_t pointPairs,
                                const std::shared_ptr<const TransformChain<D>>& initial, RunLog& log)
{
  const auto isOnAuto = [&](const CheckedStage<D>& stage) {
    return requestOf(options, stage.settings).text == "auto";
  };
  const bool goesByTime = builtWithCuda && !options.isCudaStarted && std::ranges::any_of(stages, isOnAuto);
  Calibration calibration;
  std::vector<StageWork> works, ofAuto;
  if (goesByTime || options.checkOnly) {
    calibration = storedCalibration();
    std::shared_ptr<const TransformChain<D>> before = initial;
    for (const CheckedStage<D>& stage : stages) {
      StageInput<D> input = inputWithoutVoxels<D>(headers, stage.settings.useDirectionCosines(), pointPairs);
      input.initial = before;
      before = chainAfter<D>(stage.prepared, input);
      works.push_back(workOf<D>(registry, stage, input, before));
      if (isOnAuto(stage))
        ofAuto.push_back(works.back().expected());
    }
  }
  const FasterDevice faster = goesByTime ? fasterDevice(ofAuto, options, calibration) : FasterDevice{};
  if (options.checkOnly)
    logHostNeed(hostNeed<D>(options, stages, headers, pointPairs), log);
  PredictedRun run;
  std::shared_ptr<const TransformChain<D>> before = initial;
  for (CheckedStage<D>& stage : stages) {
    StageInput<D> input = inputWithoutVoxels<D>(headers, stage.settings.useDirectionCosines(), pointPairs);
    input.initial = before;
    checkSamplers<D>(stage.prepared, input);
    const DeviceRequest request = requestOf(options, stage.settings);
    stage.wanted =
        request.text == "auto" && faster.isCpu
            ? DeviceChoice{{DeviceKind::cpu, 0}, "cpu: " + faster.text}
            : chooseDevice(request.text, request.where, whyStageNotOnCuda<D>(stage.prepared, input.initial));
    if (request.text == "auto" && stage.wanted.device.kind == DeviceKind::cuda && !faster.text.empty())
      stage.wanted.reason += ": " + faster.text;
    fitStage<D>(registry, options, stage, input, stage.wanted);
    if (options.checkOnly) {
      logStage<D>(stage, log);
      warnOfFarImages<D>(stage, input, log);
      logNeed<D>(registry, options, stage, input, log);
    }
    if (stage.number + 1 < stages.size() && request.text != "cpu")
      before = chainAfter<D>(stage.prepared, input);
    if (!options.checkOnly)
      continue;
    const Device& device = stage.prepared.choice.device;
    const bool onCuda = device.kind == DeviceKind::cuda;
    if (onCuda)
      calibration = calibrationFor(calibration, device);
    if (onCuda && !run.onCuda && !options.isCudaStarted)
      run.seconds += calibration.cudaStartSeconds;
    const StageWork& work = works[stage.number];
    run.seconds += onCuda ? cudaSeconds(calibration, work, options.threads)
                          : cpuSeconds(calibration, work, options.threads);
    run.onCuda |= onCuda;
    run.mayEndEarly |= work.mayEndEarly;
  }
  if (options.checkOnly)
    logTime(works, options, calibration, run, log);
  return run;
}

template <int D>
void planAsRead(const Registry& registry, const RegisterOptions& options, CheckedStage<D>& stage,
                const StageInput<D>& input)
{
  if (stage.number > 0 || !input.fixedMasks.empty() || !input.movingMasks.empty())
    fitStage<D>(registry, options, stage, input, stage.wanted);
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template PredictedRun chooseStageDevices<D>(                                                               \
      const Registry&, const RegisterOptions&, std::vector<CheckedStage<D>>&, const InputHeaders&,           \
      std::size_t, const std::shared_ptr<const TransformChain<D>>&, RunLog&);                                \
  template void planAsRead<D>(const Registry&, const RegisterOptions&, CheckedStage<D>&,                     \
                              const StageInput<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
