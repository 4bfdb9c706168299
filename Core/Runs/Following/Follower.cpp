#include "Core/Runs/Following/Follower.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Image/Voxels/ImageToCuda.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Following/FollowGuard.h"
#include "Core/Runs/Following/WhatWasRun.h"
#include "Core/Runs/MissingVoxels.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* anewSince = "it began anew, since ";

/// Whether a device has room for an image beside all else.
template <int D>
bool staysOnCuda(const Context& context, const ImageGeometry<D>& geometry)
{
  return context.onCuda()
         && isSmallOnDevice(context, static_cast<double>(geometry.voxelCount() * sizeof(float)));
}

/// The image of a file that a CUDA device can read piece by piece, there alone. Null: of others.
template <int D>
ImagePointer<D> readToDevice(const Context& context, const ImageHeader& header, const ReadingOptions& options)
{
  if (!header.hasRanges || !staysOnCuda(context, geometryOf<D>(header)))
    return nullptr;
  SliceReader<D> reader(header.path, options, VoxelsAs::intensities);
  if (!reader.whyNot().empty() || reader.imageCount() > 1)
    return nullptr;
  const ImagesOnCuda<D> read = *ImageToCuda<D>(context, reader, reader.geometry()).run();
  return reader.nonFiniteVoxels() > 0 ? nullptr
                                      : imageOnCuda<D>(context, reader.geometry(), read.voxels.front());
}

/// Reads a file, or takes an image in memory. Throws Error(unreadableInput).
template <int D>
HeldImage<D> readMoving(const Context& context, const GivenImage& given, const RunRequest& request)
{
  const HeldImage<D>* const held = given.held<D>();
  const auto read = [&] {
    const ImageHeader header = readImageHeader(given.path, request.reading);
    if (header.dimension != D)
      failToRead(given.path, "an image of dimension " + std::to_string(header.dimension),
                 "images of the dimension of the fixed one, " + std::to_string(D));
    if (ImagePointer<D> onDevice = readToDevice<D>(context, header, request.reading)) {
      HeldImage<D> found(std::move(onDevice));
      found.type = header.componentType;
      return found;
    }
    std::vector<std::string> notes;
    return HeldImage<D>(readImage<D>(given.path, request.reading, notes, request.threads),
                        header.componentType);
  };
  HeldImage<D> image = held ? *held : read();
  if (held)
    static_cast<CheckedImage<D>&>(image) = held->checked(context, given.path);
  if (image.nanVoxels > 0)
    failToRead(given.path, std::to_string(image.nanVoxels) + " voxels are not a finite number",
               "an image of finite numbers");
  if (const std::optional<float> only = onlyValue<D>(context, image.image))
    failToRead(given.path, "every voxel is " + realText(*only), "an image with contrast");
  return image;
}

[[noreturn]] void failLate(const std::string& where)
{
  failAs(ExitCode::registrationFailed, where, "the deadline came before the first iteration", "a later one");
}

/// The fixed side is in `warm` from now on.
template <int D>
void replaceFiles(RunRequest& request, const InputSide<D>& fixed)
{
  for (std::size_t i = 0; i < request.fixed.size(); ++i)
    request.fixed[i].inMemory = HeldImage<D>(fixed.images[i]);
  for (std::size_t i = 0; i < request.fixedMasks.size(); ++i)
    request.fixedMasks[i].inMemory = fixed.masks[i];
}

}

template <int D>
class Follower<D>::Body {
public:
  /// Who hears of an update, and when it ends.
  struct Conditions {
    RunListener<D>& listener;
    Deadline deadline;
    Stop stop;
  };

  Body(const Registry& registry, RunRequest request, Log& log, const Machine& machine)
      : registry_(registry), request_(std::move(request)), log_(log), machine_(machine)
  {
    request_.pictures = request_.inverseToo = false;
    request_.cudaStartIsPaid = true; // by the first update, for all
    request_.outputFolder.clear();
    request_.fixedLabels = request_.movingLabels = {};
    if (request_.stages.empty())
      throw Error(ExitCode::usage, "-p: not given. Allowed: -p FILE, once for each stage.");
    for (const StageText& stage : request_.stages) {
      if (stage.failure)
        std::rethrow_exception(stage.failure);
      stages_.push_back(prepareStage<D>(registry, Parameters(stage.map, "", D, levelCountOf(stage.map))));
    }
    usesDirections_ = StageSettings(stages_.back().parameters).useDirectionCosines;
    if (GivenTransform& given = request_.initialTransform; given.isFile())
      given.inMemory = readTransformChain<D>(host(), given.path, registry,
                                             [&log](const std::string& line) { log.warning(line); });
    if (request_.initialTransform.isGiven())
      initial_ = *request_.initialTransform.held<D>();
  }

  FollowUpdate<D> update(const GivenImage& moving, const Conditions& conditions)
  {
    if (warm_.fixed)
      warm_.filtered.keepOnly(warm_.fixed->images);
    FollowUpdate<D> found;
    const auto start = Clock::now();
    const HeldImage<D> image = readMoving<D>(device(), moving, request_);
    const auto voxels = staysOnCuda(device(), image.image->geometry) // for all parts
                            ? voxelsOnCuda<D>(device(), image.image)
                            : nullptr;
    checkGeometry(moving.path, image.image->geometry);
    RunRequest request = request_;
    request.moving = {{moving.path, image}};
    Log ofUpdate;
    Log& log = look_ ? ofUpdate : log_;
    loadFixed(request, log);
    found.readingSeconds = secondsSince(start);
    found.before = lookAt(image, last_ ? last_ : initial_, found);
    found.why = !last_                  ? "there is no result to go on from"
                : !guard_.doubt.empty() ? guard_.doubt
                                        : guard_.whyCold(found.before, voxelMm(stages_.back(), 0),
                                                         [&] { return lookAt(image, initial_, found); });
    std::string doubt; // of the new result
    if (found.why.empty())
      found.why = doubt = warmRun(request, image, conditions, found, log);
    if (!found.why.empty() && (!found.result.chain || Clock::now() < conditions.deadline)) {
      const auto anew = [&] { return coldRun(request, image, conditions, found, log); };
      doubt = last_ ? withContext(anewSince + found.why, anew) : anew();
    }
    found.warnings = log.warnings();
    const bool isLate = found.endedInTime && iterations_ == 0, wentOn = last_ != nullptr;
    if (isLate && !found.isCold)
      failLate(moving.path);
    if (reachedLastLevel_ && (found.isCold || found.levels.back() == 0))
      look_->keepRest();
    last_ = found.result.chain;
    if (found.levels.front() >= 0)
      refined_ = last_;
    guard_.last = found.fit;
    guard_.doubt = doubt;
    geometry_ = image.image->geometry;
    if (isLate) // the next one goes on from its start, or none would ever come further
      failLate((wentOn ? anewSince + found.why + ": " : "") + moving.path);
    return found;
  }

  /// The next update starts them anew.
  void forgetDevices()
  {
    warm_.filtered = {};
    warm_.onDevice.clear();
    warm_.contexts.clear();
  }

  ChainPointer<D> last_, refined_; // refined_: when the first stage was run last
  FollowGuard guard_;

private:
  void checkGeometry(const std::string& name, const ImageGeometry<D>& geometry) const
  {
    if (geometry_
        && (geometry.size != geometry_->size || geometry.spacingMm != geometry_->spacingMm
            || geometry.direction != geometry_->direction))
      failToRead(name, "another size, spacing or direction than the images before",
                 "images of one geometry; their origins may differ");
  }

  void loadFixed(RunRequest& request, Log& log)
  {
    if (look_)
      return;
    Inputs<D> inputs(request, readHeaders(request, log));
    const auto leavesOut = [](const PreparedStage<D>& stage) {
      return StageSettings(stage.parameters).leavesOutFilling;
    };
    inputs.load(device(), std::ranges::all_of(stages_, leavesOut), log, &warm_.fixed);
    replaceFiles<D>(request_, *warm_.fixed);
    replaceFiles<D>(request, *warm_.fixed);
    const PreparedStage<D>& stage = stages_.back();
    const ImagePointer<D> fixed = placed(warm_.fixed->images.front());
    const MaskPointer<D> mask = warm_.fixed->masks.empty() ? nullptr : warm_.fixed->masks.front();
    Context context = device();
    look_.emplace(registry_, stage.components.fixedPyramids.front()->imageOfLevel(context, fixed, 0),
                  usesDirections_ ? mask : nullptr);
  }

  ImagePointer<D> placed(const ImagePointer<D>& image) const
  {
    if (usesDirections_)
      return image;
    hostVoxels<D>(image);
    return std::make_shared<Image<D>>(Image<D>{geometryInUse<D>(image->geometry, false), image->voxels});
  }
  Context host() const { return {Device{}, request_.threads}; }
  /// Returns the context of the last run, where images of levels may lie already.
  Context device() const { return warm_.contexts.empty() ? host() : warm_.contexts.begin()->second; }

  FitOfImages lookAt(const HeldImage<D>& image, const ChainPointer<D>& chain, FollowUpdate<D>& found)
  {
    const auto start = Clock::now();
    Context context = device();
    const ImagePointer<D> moving = placed(image.image);
    const auto steps = stages_.back().components.movingPyramids.front()->stepsOfLevel(moving->geometry, 0);
    const ImagePointer<D> coarse = warm_.filtered.of(context, moving, steps, nullptr, nullptr);
    const FitOfImages fit = look_->at(chain, coarse, host());
    found.lookingSeconds += secondsSince(start);
    return fit;
  }

  /// The mean distance of what a level of a stage can tell apart.
  double voxelMm(const PreparedStage<D>& stage, std::size_t level) const
  {
    const Vec<D> factors = stage.components.fixedPyramids.front()->scheduleOfLevel(level);
    double mm = 0;
    for (int d = 0; d < D; ++d)
      mm += std::max(1.0, factors[d]) * warm_.fixed->images.front()->geometry.spacingMm[d] / D;
    return mm;
  }

  /// Whether the patient has moved so that linear stages are to be refined.
  bool movedLinearly(const FitOfImages& before)
  {
    const double mm = voxelMm(stages_.front(), stages_.front().parameters.levelCount() - 1);
    if (before.leftAffineMm > levels_.linear * mm && before.leftAffineMm > levels_.affine * before.leftMm)
      return true;
    return refined_ && look_->affineBetweenMm(refined_, last_, host()) > levels_.taken * mm;
  }

  /// The first level of each stage, below 0: none. The last stage always has one.
  std::vector<int> firstLevels(const FitOfImages& before)
  {
    const bool refines = movedLinearly(before);
    bool isRefined = false; // a linear stage before this one
    std::vector<int> first;
    for (const PreparedStage<D>& stage : stages_) {
      const bool isLinear = stage.components.transform->linear(), isLast = &stage == &stages_.back();
      int level = static_cast<int>(stage.parameters.levelCount()) - 1;
      while (level > 0 && before.leftMm > levels_.voxel * voxelMm(stage, static_cast<std::size_t>(level)))
        --level;
      if (isLinear && !isLast && !refines)
        level = -1;
      else if (!isLinear && isRefined)
        level = std::max(0, level - 1);
      isRefined = isRefined || (isLinear && level >= 0);
      first.push_back(level);
    }
    return first;
  }

  /// Returns why its result is not one, empty if it is.
  std::string warmRun(RunRequest request, const HeldImage<D>& image, const Conditions& conditions,
                      FollowUpdate<D>& found, Log& log)
  {
    request.startAt = {"the last result", last_};
    request.measuresResult = false; // an update has no time for it
    try {
      run(request, firstLevels(found.before), conditions, found, log);
    } catch (const Error& error) {
      if (error.code() != ExitCode::registrationFailed)
        throw;
      return std::string("from the last result: ") + error.what();
    }
    found.fit = lookAt(image, found.result.chain, found);
    const std::string folded = guard_.whyFolded(found.fit);
    return folded.empty() ? guard_.whyWorse(found.before, found.fit) : folded;
  }

  /// Returns why its result is doubtful, which it warns of; empty if it is not.
  std::string coldRun(const RunRequest& request, const HeldImage<D>& image, const Conditions& conditions,
                      FollowUpdate<D>& found, Log& log)
  {
    run(request, {}, conditions, found, log);
    found.isCold = true;
    const FitOfImages unmoved = lookAt(image, initial_, found);
    found.fit = lookAt(image, found.result.chain, found);
    const std::string worse = guard_.whyWorse(unmoved, found.fit);
    guard_.correlationOfCold = std::abs(found.fit.correlation);
    if (worse.empty())
      return "";
    log.warning(worse + ". Do the two images show the same part of the patient?");
    return "the last result is doubtful: " + worse;
  }

  /// `first` is empty for all levels.
  void run(RunRequest request, const std::vector<int>& first, const Conditions& conditions,
           FollowUpdate<D>& found, Log& log)
  {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < first.size(); ++i)
      request.stages[i].map = fromLevel(request.stages[i].map, first[i]);
    found.levels.clear();
    found.whatWasRun.clear();
    Run<D> run(registry_, request, log, machine_);
    found.result = run.execute(conditions.listener, conditions.stop, &warm_, conditions.deadline);
    for (StageText& stage : request_.stages)
      stage.isChecked = true;
    tell(run.summary(), request, found);
    found.registeringSeconds += secondsSince(start);
  }

  void tell(const RunSummary& summary, const RunRequest& request, FollowUpdate<D>& found)
  {
    iterations_ = 0;
    found.endedInTime = false;
    found.device = summary.device;
    for (std::size_t i = 0; i < summary.stages.size(); ++i) {
      const std::vector<LevelSummary>& levels = summary.stages[i].levels;
      const auto& map = request.stages[i].map;
      const Parameters parameters(map, "", D, levelCountOf(map));
      std::size_t wanted = 0;
      for (std::size_t level = 0; level < parameters.levelCount(); ++level)
        wanted += parameters.get(stageparameters::runResolution(), level);
      found.endedInTime |= levels.size() < wanted || std::ranges::any_of(levels, &LevelSummary::endedInTime);
      found.levels.push_back(levels.empty() ? -1 : static_cast<int>(levels.front().level));
      if (!levels.empty())
        found.metric = levels.back().value;
      for (const LevelSummary& level : levels) {
        iterations_ += level.iterations;
        found.preparingSeconds += level.preparationSeconds;
        found.levelsSeconds += level.seconds - level.preparationSeconds;
      }
      found.whatWasRun.push_back(parameterText(*asItRan(map, levels)));
      reachedLastLevel_ = !levels.empty() && levels.back().level + 1 == parameters.levelCount();
    }
  }

  const Registry& registry_;
  RunRequest request_;
  Log& log_;
  const Machine& machine_;
  FollowLevels levels_;
  std::vector<PreparedStage<D>> stages_; // for their pyramids and levels
  bool usesDirections_ = true;           // the last of them
  ChainPointer<D> initial_;
  WarmSide<D> warm_;
  std::optional<FixedLook<D>> look_;
  std::optional<ImageGeometry<D>> geometry_; // of moving images
  std::size_t iterations_ = 0;               // of the last run
  bool reachedLastLevel_ = false;            // of the last stage, in that run
};

template <int D>
Follower<D>::Follower(const Registry& registry, RunRequest request, Log& log, const Machine& machine)
    : body_(std::make_unique<Body>(registry, std::move(request), log, machine))
{
}

template <int D>
Follower<D>::~Follower() = default;

template <int D>
FollowUpdate<D> Follower<D>::update(const GivenImage& moving, RunListener<D>& listener, Deadline deadline,
                                    Stop stop)
{
  try {
    return body_->update(moving, {listener, deadline, stop});
  } catch (const Error& error) {
    if (error.code() == ExitCode::device)
      body_->forgetDevices();
    throw;
  }
}

template <int D>
FollowUpdate<D> Follower<D>::update(const GivenImage& moving, Deadline deadline)
{
  RunListener<D> nobody;
  return update(moving, nobody, deadline);
}

template <int D>
const ChainPointer<D>& Follower<D>::last() const
{
  return body_->last_;
}

template <int D>
void Follower<D>::setLast(ChainPointer<D> chain, std::optional<FitOfImages> fit)
{
  body_->last_ = body_->refined_ = std::move(chain);
  body_->guard_.last = fit;
  body_->guard_.doubt.clear();
}

TESSERA_INSTANTIATE_CLASS(Follower);

}
