#include "Core/Runs/RunPlan.h"

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registration/Stage/Motion.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// The device that was asked for, and where: "--device", or a line of the parameter file.
struct DeviceRequest {
  std::string text, where;
};

DeviceRequest requestOf(const RunRequest& request, const StageSettings& settings)
{
  return request.device.empty() ? DeviceRequest{settings.device, settings.whereDevice}
                                : DeviceRequest{request.device, "--device"};
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

/// Plans a stage's levels on the CUDA device that it wants, of which `context` is. Where one does not fit,
/// the stage goes to the CPU if it is on "auto".
template <int D>
void fitStage(const Registry& registry, const RunRequest& run, CheckedStage<D>& stage,
              const StageInput<D>& input, const Context& context)
{
  const DeviceChoice& choice = stage.prepared.choice = stage.wanted;
  if (choice.device.kind == DeviceKind::cpu)
    return;
  const DeviceRequest request = requestOf(run, stage.settings);
  const double usable = usableDeviceMemory(context);
  stage.prepared.plans = planStage<D>(registry, stage.prepared, input, usable);
  const std::string why = misfit(stage.prepared.plans, deviceName(choice.device));
  if (why.empty())
    return;
  if (request.text != "auto")
    failAs(ExitCode::outOfMemory, request.where, "\"" + request.text + "\": " + why,
           "coarser levels (ImagePyramidSchedule), fewer samples (ImageSampler, NumberOfSpatialSamples), a "
           "wider grid spacing, more with --max-device-memory if that was given, or \"cpu\"");
  stage.prepared.choice = {{DeviceKind::cpu, 0}, "cpu: " + why};
  stage.prepared.plans.clear();
}

/// What each level needs of the CUDA device that the stage was given. If there is no device, but a limit of
/// its memory was given, what each level would need of one.
template <int D>
void tellNeed(const StagesToPlan<D>& run, const CheckedStage<D>& stage, const StageInput<D>& input,
              std::vector<std::string>& lines)
{
  std::vector<LevelPlan> plans = stage.prepared.plans;
  std::string device = deviceName(stage.prepared.choice.device);
  if (stage.prepared.choice.device.kind == DeviceKind::cpu) {
    const bool hasDevice = stage.wanted.device.kind == DeviceKind::cuda;
    if (requestOf(run.request, stage.settings).text != "auto"
        || (!hasDevice && !std::isfinite(run.request.maxDeviceMemory))
        || !whyStageNotOnCuda<D>(stage.prepared, input.initial).empty())
      return;
    plans = planStage<D>(run.registry, stage.prepared, input, run.request.maxDeviceMemory);
    device = "a CUDA device";
  }
  for (std::size_t level = 0; level < plans.size(); ++level)
    lines.push_back(stage.text.path + ": " + planText(plans[level], level, device)
                    + (plans[level].fits() ? "." : ": it does not fit."));
}

void tellHostNeed(const HostNeed& need, std::vector<std::string>& lines, Log& log)
{
  const double available = availableMemoryBytes();
  lines.push_back("Memory of this machine: about " + memoryText(need.bytes()) + " at most (the program "
                  + memoryText(programBytes) + ", images and masks " + memoryText(need.images) + ", "
                  + memoryText(need.work) + " for " + need.largest + ")"
                  + (std::isfinite(available) ? "; free are " + memoryText(available) : "") + ".");
  if (need.bytes() > available)
    log.warning("memory: this run may need more than is free.");
}

/// What stages probably take on each device, with its start.
DeviceTimes expectedOf(const std::vector<StageTimes>& stages, const Calibration& calibration,
                       const RunRequest& request)
{
  DeviceTimes sum{0, request.cudaStartIsPaid ? 0 : calibration.cudaStartSeconds};
  for (const StageTimes& stage : stages) {
    sum += stage.expectedLevels;
    sum += stage.result;
  }
  return sum;
}

/// The device that is predicted to be faster for the stages with "auto".
struct FasterDevice {
  bool isCpu = false;
  std::string text; // both predictions; empty: nobody has a choice
};

/// Goes by the evaluations that the stages probably take.
FasterDevice fasterDevice(const std::vector<StageTimes>& ofAuto, const RunRequest& request,
                          const Calibration& calibration)
{
  const DeviceTimes seconds = expectedOf(ofAuto, calibration, request);
  const std::string text = "predicted are " + timeText(seconds.cpu) + " on the CPU, " + timeText(seconds.cuda)
                           + " on CUDA (of it " + timeText(calibration.cudaStartSeconds) + " to start it; "
                           + calibration.source + ")";
  if (seconds.cpu <= seconds.cuda) // the driver would take longer to find a GPU
    return {true, text};
  return chooseDevice("auto", "--device", "").device.kind == DeviceKind::cpu ? FasterDevice{}
                                                                             : FasterDevice{false, text};
}

void tellTime(const RunRequest& request, const Calibration& calibration, RunPlan& plan)
{
  const RunTimes& times = plan.times;
  const std::string threads = threadsText(request.threads);
  const bool carriesImages = !request.warped.empty() || !request.warpedLabels.empty();
  plan.lines.push_back("Time: about " + timeText(times.sum()) + " on "
                       + (plan.onCuda ? "CUDA" : "the CPU with " + threads)
                       + (plan.mayEndEarly ? " if no level ends early: " : ": ") + timeText(times.start)
                       + " to start, " + timeText(times.reading) + " to read, " + timeText(times.stages)
                       + " to register and resample, " + timeText(times.writing) + " for figures and files"
                       + (request.inverseToo ? "; the inverse is not counted" : "")
                       + (carriesImages ? "; what --warp and --warp-labels take is not counted. " : ". ")
                       + (plan.onCuda ? "Registering and resampling on the CPU with " + threads + " takes "
                                            + timeText(plan.onEither.cpu) + ". "
                                      : "")
                       + "An estimate by " + calibration.source
                       + " (tessera-bench calibrate measures this machine, --check --time each level).");
}

/// One line about which components a stage has and where it runs.
template <int D>
std::string lineOf(const CheckedStage<D>& stage)
{
  const Parameters& parameters = stage.prepared.parameters;
  const auto named = [&](const char* role) { return joined(componentNames(parameters, role), " + "); };
  const std::size_t levels = parameters.levelCount();
  return "Stage " + std::to_string(stage.number) + ", " + stage.text.path + ": " + named("Transform") + ", "
         + std::to_string(levels) + (levels == 1 ? " level" : " levels") + ", " + named("Metric")
         + (named("ImageSampler").empty() ? "" : ", samples by " + named("ImageSampler")) + ", "
         + named("Optimizer") + ", on " + deviceName(stage.prepared.choice.device) + ".";
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
void warnOfFarImages(const CheckedStage<D>& stage, const StageInput<D>& input, Log& log)
{
  const auto centres = booleanParameter("AutomaticTransformInitialization", false, Arity::single, "");
  const Parameters& parameters = stage.prepared.parameters;
  if (stage.number > 0 || parameters.withLabel("Transform0").get(centres) || input.hasPoints)
    return;
  const ChainPointer<D> start = chainAfter<D>(stage.prepared, input);
  StageInput<D> coarse = input;
  coarse.fixed = {coarseImage<D>(input.fixed.front()->geometry)};
  const double inside = motionBetween<D>(Context{Device{}, 1}, coarse, {}, *start, *start).insideAtStart;
  if (inside < fewInside)
    log.warning("by their headers the images hardly overlap at the start: " + decimals(100 * inside, 1)
                + " % of the fixed image map into the moving one. Usual remedies: a first stage with "
                  "(AutomaticTransformInitialization \"true\"), or -t0.");
}

template <int D>
StageInput<D> inputOf(const StagesToPlan<D>& run, const CheckedStage<D>& stage, const ChainPointer<D>& before)
{
  return run.inputs.ofStage(stage.number, stage.settings.useDirectionCosines, before);
}

template <int D>
std::vector<StageTimes> timesOf(const StagesToPlan<D>& run, const Calibration& calibration)
{
  std::vector<StageTimes> times;
  ChainPointer<D> before = run.initial;
  for (const CheckedStage<D>& stage : run.stages) {
    const StageInput<D> input = inputOf(run, stage, before);
    before = chainAfter<D>(stage.prepared, input);
    times.push_back(timesOfStage<D>({calibration, run.request.threads}, run.registry, stage, input, before));
  }
  return times;
}

template <int D>
Context contextOn(const StagesToPlan<D>& run, const Device& device, int threads)
{
  const auto made = [&] { return makeContext(device, threads, run.request.maxDeviceMemory); };
  if (!run.contexts || device.kind == DeviceKind::cpu)
    return made();
  const auto known = run.contexts->find(deviceName(device));
  Context context = known != run.contexts->end()
                        ? known->second
                        : run.contexts->emplace(deviceName(device), made()).first->second;
  context.threads = threads;
  return context;
}

/// Calls planned(stage, input) for each stage.
template <int D, class Planned>
void chooseDevices(const StagesToPlan<D>& run, Planned&& planned)
{
  const auto isOnAuto = [&](const CheckedStage<D>& stage) {
    return requestOf(run.request, stage.settings).text == "auto";
  };
  FasterDevice faster;
  if (builtWithCuda && !run.request.cudaStartIsPaid && std::ranges::any_of(run.stages, isOnAuto)) {
    const Calibration calibration = run.machine.calibration();
    std::vector<StageTimes> ofAuto = timesOf(run, calibration);
    std::size_t number = 0;
    std::erase_if(ofAuto, [&](const StageTimes&) { return !isOnAuto(run.stages[number++]); });
    faster = fasterDevice(ofAuto, run.request, calibration);
  }
  ChainPointer<D> before = run.initial;
  for (CheckedStage<D>& stage : run.stages) {
    const StageInput<D> input = inputOf(run, stage, before);
    checkSamplers<D>(stage.prepared, input);
    const DeviceRequest request = requestOf(run.request, stage.settings);
    stage.wanted =
        request.text == "auto" && faster.isCpu
            ? DeviceChoice{{DeviceKind::cpu, 0}, "cpu: " + faster.text}
            : chooseDevice(request.text, request.where, whyStageNotOnCuda<D>(stage.prepared, input.initial));
    if (request.text == "auto" && stage.wanted.device.kind == DeviceKind::cuda && !faster.text.empty())
      stage.wanted.reason += ": " + faster.text;
    fitStage<D>(run.registry, run.request, stage, input,
                contextOn(run, stage.wanted.device, run.request.threads));
    planned(stage, input);
    if (stage.number + 1 < run.stages.size() && request.text != "cpu")
      before = chainAfter<D>(stage.prepared, input);
  }
}

}

template <int D>
void chooseStageDevices(const StagesToPlan<D>& run)
{
  chooseDevices(run, [](const CheckedStage<D>&, const StageInput<D>&) {});
}

template <int D>
RunPlan planRun(const StagesToPlan<D>& run, Log& log)
{
  const RunRequest& request = run.request;
  RunPlan plan;
  const Calibration calibration = run.machine.calibration();
  const std::vector<StageTimes> times = timesOf(run, calibration);
  const InputHeaders& headers = run.inputs.headers();
  plan.host = hostNeed<D>(request, run.stages, run.inputs);
  tellHostNeed(plan.host, plan.lines, log);
  plan.results = resultsToWrite<D>(run.stages, request.outputFolder, headers);
  plan.onEither = expectedOf(times, calibration, request);
  plan.times = {.start = programStartSeconds,
                .reading = readingSeconds(headers, request.threads),
                .writing = writingSeconds(
                    plan.results, static_cast<double>(headers.fixed.front().voxelCount()), request.threads)};
  chooseDevices(run, [&](const CheckedStage<D>& stage, const StageInput<D>& input) {
    const StageTimes& ofStage = times[stage.number];
    plan.stages.push_back(
        {stage.text.path, stage.prepared.choice, stage.prepared.plans, ofStage.evaluations});
    plan.lines.push_back(lineOf(stage));
    warnOfFarImages<D>(stage, input, log);
    tellNeed<D>(run, stage, input, plan.lines);
    const bool onCuda = stage.prepared.choice.device.kind == DeviceKind::cuda;
    if (onCuda && !plan.onCuda && !request.cudaStartIsPaid)
      plan.times.start += calibration.cudaStartSeconds;
    plan.times.stages +=
        onCuda ? ofStage.levels.cuda + ofStage.result.cuda : ofStage.levels.cpu + ofStage.result.cpu;
    plan.onCuda |= onCuda;
    plan.mayEndEarly |= ofStage.mayEndEarly;
  });
  tellTime(request, calibration, plan);
  return plan;
}

/// Whether what was read cannot need less than the headers let expect, and there is room for that.
template <int D>
bool isAsPlanned(const PreparedStage<D>& prepared, const StageInput<D>& input, const Context& context)
{
  if (prepared.plans.empty() || !input.fixedMasks.empty() || !input.movingMasks.empty())
    return false;
  const double usableBytes = usableDeviceMemory(context);
  const auto fits = [&](const LevelPlan& plan) { return plan.memory.bytes() <= usableBytes; };
  bool crops = false;
  for (std::size_t level = 0; level < prepared.parameters.levelCount(); ++level)
    crops |= prepared.parameters.get(stageparameters::cropToContent(), level);
  return !crops && std::ranges::all_of(prepared.plans, fits);
}

template <int D>
DeviceReservation planAsRead(const StagesToPlan<D>& run, CheckedStage<D>& stage, const StageInput<D>& input,
                             const StageOnDevice* known, Context& context)
{
  if (known)
    stage.wanted = known->wanted;
  Context wanted = contextOn(run, stage.wanted.device, context.threads);
  wanted.stop = context.stop;
  DeviceReservation reservation(wanted, [&] {
    if (known) {
      stage.prepared.choice = known->choice;
      stage.prepared.plans = known->plans;
    } else if (!isAsPlanned(stage.prepared, input, wanted)) {
      fitStage<D>(run.registry, run.request, stage, input, wanted);
    }
    double bytes = 0;
    for (const LevelPlan& plan : stage.prepared.plans)
      bytes = std::max(bytes, plan.memory.bytes());
    return bytes;
  });
  if (stage.prepared.choice.device.kind == DeviceKind::cuda)
    context = wanted;
  return reservation;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(chooseStageDevices<D>, planRun<D>, planAsRead<D>);

}
