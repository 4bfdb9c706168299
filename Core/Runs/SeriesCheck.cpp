#include "Core/Runs/SeriesCheck.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Log.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/StackOfTransforms.h"
#include "Core/Registration/TermOfSeries.h"
#include "Core/Runs/Transforming/FromTime.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

namespace tessera {
namespace {

bool areAlike(const TimesOfStack& a, const TimesOfStack& b)
{
  const double most = 1e-6 * b.spacing;
  return a.count == b.count && std::abs(a.spacing - b.spacing) <= most
         && std::abs(a.origin - b.origin) <= most;
}

std::string textOf(const TimesOfStack& times)
{
  return std::to_string(times.count) + " times from " + realText(times.origin) + " on, "
         + realText(times.spacing) + " apart";
}

/// Unasked, as the default is that of all axes.
template <int D>
bool smoothesTimes(const CheckedStage<D>& stage)
{
  const Parameters& parameters = stage.prepared.parameters;
  const auto isSchedule = [](const ParameterEntry& entry) {
    return entry.name.find("Pyramid") != std::string::npos && entry.name.ends_with("Schedule");
  };
  for (const auto& pyramid : stage.prepared.components.movingPyramids)
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      if (pyramid->scheduleOfLevel(level).back() > 1)
        return std::ranges::none_of(parameters.map().entries(), isSchedule);
  return false;
}

bool isEmpty(std::span<const std::uint8_t> mask)
{
  return std::ranges::none_of(mask, std::identity{});
}
bool isConstant(std::span<const float> voxels)
{
  return std::ranges::adjacent_find(voxels, std::ranges::not_equal_to()) == voxels.end();
}

/// The numbers of the times whose voxels are so, as text.
template <class T>
std::string timesThat(const std::vector<T>& voxels, std::size_t times, bool (*isSo)(std::span<const T>))
{
  const std::size_t each = voxels.size() / times;
  std::vector<std::string> found;
  for (std::size_t time = 0; time < times; ++time)
    if (isSo(std::span(voxels).subspan(time * each, each)))
      found.push_back(std::to_string(time));
  return joined(found);
}

}

template <int D>
bool isOfSeries(const CheckedStage<D>& stage)
{
  return std::ranges::any_of(stage.prepared.components.terms, [](const auto& term) {
    return dynamic_cast<const TermOfSeries<D>*>(term.get()) != nullptr;
  });
}

template <int D>
void checkRequestForSeries(const RunRequest& request, const std::vector<CheckedStage<D>>& stages, Log& log)
{
  if (request.fixedPoints.isGiven() && std::ranges::any_of(stages, isOfSeries<D>))
    log.note(
        "-fp and -mp: of a series -fp tells where points lie on the mean of all times, and -mp where they "
        "lie at each time.");
  for (const CheckedStage<D>& stage : stages)
    if (isOfSeries<D>(stage) && smoothesTimes<D>(stage))
      log.note(stage.text.path
               + ": without a schedule the first levels smooth along time, too, so that times are mixed. "
                 "(ImagePyramidSchedule ...) with 0 or 1 as the last factor of each level keeps them apart.");
  for (const CheckedStage<D>& stage : stages)
    if (isOfSeries<D>(stage) && (request.fixedLabels.isGiven() || request.movingLabels.isGiven()))
      failAs(ExitCode::usage, "--fLabels and --mLabels",
             stage.text.path
                 + " registers the times of a series to each other, and no image to another one whose labels "
                   "could be compared",
             "--warp-labels with --from-time N");
    else if (request.fromTime && !isOfSeries<D>(stage))
      failAs(ExitCode::usage, "--from-time",
             stage.text.path + " does not register the times of a series to each other",
             "files that do, such as those of --preset cine");
}

template <int D>
void checkStartOfSeries(const std::string& what, const TransformChain<D>& chain,
                        const ImageGeometry<D>& series, Log& log)
{
  if (!keepsTimes<D>(chain, series))
    failAs(ExitCode::usage, what, "it moves points along the last axis of the images, which is time",
           "a transform that leaves times as they are");
  const TimesOfStack here{static_cast<int>(series.size[D - 1]), series.spacingMm[D - 1],
                          series.originMm[D - 1]};
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    if (const auto* const stack = dynamic_cast<const StackOfTransforms*>(link->transform.get());
        stack && !areAlike(stack->times(), here))
      log.warning(what + ": it is for " + textOf(stack->times()) + ", and the series has " + textOf(here)
                  + ". Each time starts from the nearest one that there is.");
}

template <int D>
void warnOfVoxelsOfSeries(const RunRequest& request, const StageInput<D>& input, Log& log)
{
  const GivenImage &fixed = request.fixed.front(), &moving = request.moving.front();
  std::error_code ignored;
  const bool isOneFile =
      fixed.isFile() && moving.isFile() && std::filesystem::equivalent(fixed.path, moving.path, ignored);
  if (!isOneFile && input.fixed.front()->voxels != input.moving.front()->voxels)
    log.warning("-f: " + fixed.path + ": it is another image than -m, " + moving.path
                + ", whose times are registered to each other; of -f the grid alone counts, as in elastix.");
  const bool leavesOut = !input.erodedOfMoving.empty();
  for (std::size_t i = 0; i < input.movingMasks.size(); ++i)
    if (const MaskPointer<D>& mask = input.movingMasks[i])
      if (const std::string empty = timesThat(mask->voxels, mask->geometry.size[D - 1], isEmpty);
          !empty.empty())
        log.warning((i < request.movingMasks.size() ? "-mMask: " + request.movingMasks[i].path
                                                    : "-m: " + request.moving[i].path)
                    + ": no voxel " + (leavesOut ? "with a value " : "") + "at time " + empty
                    + " (from 0), which is not registered then; metrics that need samples of every time find "
                      "none. Usual remedy: "
                    + (leavesOut ? "a series without that time." : "a mask with voxels at every time."));
  for (std::size_t i = 0; i < input.moving.size(); ++i) {
    const Image<D>& image = *input.moving[i];
    const std::string constant = timesThat(image.voxels, image.geometry.size[D - 1], isConstant);
    if (!constant.empty() && !isConstant(image.voxels)) // else the image was told of
      log.warning("-m: " + request.moving[i].path + ": all voxels have one value at time " + constant
                  + " (from 0), which cannot be registered: it has no contrast. Usual remedy: a series "
                    "without that time.");
  }
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(isOfSeries<D>, checkRequestForSeries<D>, checkStartOfSeries<D>,
                                   warnOfVoxelsOfSeries<D>);

}
