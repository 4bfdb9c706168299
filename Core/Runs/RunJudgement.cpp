#include "Core/Runs/RunJudgement.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Core/Image/Voxels/LabelTable.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Samples/TimeSlices.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Runs/LabelNames.h"
#include "Core/Runs/Report/CohortVerdicts.h"
#include "Core/Runs/Report/PageOverTime.h"
#include "Core/Runs/Resampling/HostInterpolator.h"
#include "Core/Runs/Resampling/ResultOutside.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {
namespace {

/// Red, green and blue of an image in the plane whose file has colours; else empty.
template <int D>
std::vector<ImagePointer<D>> coloursOf(const RunRequest& request, const GivenImage& given,
                                       const ImageGeometry<D>& geometry)
{
  std::vector<ImagePointer<D>> colours;
  if (D > 2 || !given.isFile()) // a volume in colour is rare, and to look for one may read a folder of DICOM
    return colours;
  const ImageHeader header = readImageHeader(given.path, request.reading);
  if ((header.meaning != PixelMeaning::rgb && header.meaning != PixelMeaning::rgba)
      || pixelTypeSize(header.componentType) != 1)
    return colours;
  const VectorImage<D> image = readVectorImage<D>(given.path, request.reading, request.threads);
  for (std::size_t c = 0; c < 3; ++c) {
    auto colour = std::make_shared<Image<D>>();
    colour->geometry = geometry;
    for (std::size_t v = 0; v < geometry.voxelCount(); ++v)
      colour->voxels.push_back(image.voxels[v * static_cast<std::size_t>(header.components) + c]);
    colours.push_back(std::move(colour));
  }
  return colours;
}

/// The times of a series through a chain (null: as they lie), with linear interpolation; 0 outside.
template <int D>
ShownTimes<D - 1> timesThrough(const JudgedRun<D>& run, const TransformChain<D>* chain)
{
  const ImageGeometry<D>& series = run.inputs.fixed.front()->geometry;
  const auto interpolator =
      hostInterpolator<D>(run.registry, knowncomponents::linearInterpolator, run.inputs.moving.front());
  const auto values = std::make_shared<std::vector<float>>(series.voxelCount());
  const std::size_t times = series.size[D - 1], each = values->size() / times;
  constexpr double stepsAMm = 1e6; // whole numbers of these are added, in any order
  std::vector<std::atomic<std::int64_t>> moved(times);
  forEachVoxelBatch<D>(run.host, series, [&](std::size_t first, const PointBatch<D>& points) {
    Context host{Device{}, 1};
    std::array<std::uint8_t, batchCapacity> inside;
    const PointBatch<D> there = mappedPoints<D>(chain, points);
    interpolator->evaluate(host, there.list(), values->data() + first, nullptr, inside.data());
    std::int64_t ofTime = 0;
    for (std::size_t i = 0; i < points.count; ++i) {
      if (!inside[i])
        (*values)[first + i] = 0;
      ofTime += std::llround(stepsAMm * distanceBetween<D>(points.point(i), there.point(i)));
      if (i + 1 == points.count || (first + i + 1) % each == 0)
        moved[(first + i) / each] += std::exchange(ofTime, 0);
    }
  });
  ShownTimes<D - 1> shown{
      sliceGeometry<D>(series),
      [values, each](std::size_t time) { return std::span<const float>(*values).subspan(time * each, each); },
      {}};
  shown.change = changeOf(times, each, shown.valuesOf);
  for (const std::atomic<std::int64_t>& sum : moved)
    shown.displacementMm.push_back(static_cast<double>(sum) / stepsAMm / static_cast<double>(each));
  return shown;
}

template <int D>
using TimesOfSeries = std::vector<ShownTimes<D == 4 ? 3 : 2>>;

/// Returns the times of a series before and after its registration, and none for other images.
template <int D>
TimesOfSeries<D> timesOf(const JudgedRun<D>& run)
{
  if constexpr (D > 2)
    if (run.isSeries && run.chain)
      return {timesThrough(run, run.given), timesThrough(run, run.chain)};
  return {};
}

/// The part of the page that is about a series, in HTML; it is empty for other images.
template <int D>
std::string overTime(const TimesOfSeries<D>& times)
{
  if (times.empty())
    return "";
  const auto &before = times.front(), &after = times.back();
  constexpr int ofTime = D == 4 ? 3 : 2;
  return curvesOverTime("Displacement", "mm, mean of the voxels", "time",
                        {{"before", before.displacementMm}, {"after", after.displacementMm}})
         + intensitiesOverTime<ofTime>(before.displacementMm.size(), "time", before, after);
}

template <int D>
RunPictures picturesOf(const JudgedRun<D>& run, const LabelPair<D>& labels, const TimesOfSeries<D>& times)
{
  if constexpr (D == 4) {
    RunPictures pictures;
    pictures.overTime = overTime<D>(times);
    for (const auto& after : times)
      pictures.thumbnail =
          middleSlices<3>(after.geometry, after.change.mean, greyRangeOf(after.change.mean).line());
    return pictures;
  } else {
    const StageInput<D>& inputs = run.inputs;
    const auto maskOf = [](const std::vector<MaskPointer<D>>& masks) {
      return masks.empty() ? nullptr : masks.front();
    };
    const ImagePointer<D>&fixed = inputs.fixed.front(), &moving = inputs.moving.front();
    return runPictures<D>(run.host, run.registry,
                          {fixed, moving, maskOf(inputs.fixedMasks), run.headerDirection, run.given,
                           run.chain, labels.first, labels.second, labels.labels, inputs.points,
                           coloursOf<D>(run.request, run.request.fixed.front(), fixed->geometry),
                           coloursOf<D>(run.request, run.request.moving.front(), moving->geometry),
                           maskOf(inputs.movingMasks), overTime<D>(times)});
  }
}

/// Images that were nearly alike must not become less so. Of others, such as MR and CT, a correlation tells
/// little.
void warnOfLessCorrelation(const RunQuality& quality, Log& log)
{
  constexpr double nearlyAlike = 0.9, clearly = 0.002;
  if (!quality.correlation || !quality.correlationBefore)
    return;
  const double before = std::abs(*quality.correlationBefore), after = std::abs(*quality.correlation);
  if (before >= nearlyAlike && after < before - clearly)
    log.warning("the intensities of the images correlate less than before the registration: "
                + decimals(after, 4) + ", before " + decimals(before, 4)
                + ". Usual remedies: another metric, a stiffer transform.");
}

/// Points that were placed by hand may lie a little farther apart in a good result.
void warnOfPoints(const RunQuality& quality, Log& log)
{
  constexpr double clearly = 1.2;
  if (const auto& points = quality.points; points && points->meanMm > clearly * points->beforeMm)
    log.warning("the points of -fp and -mp lie farther apart after the registration, "
                + decimals(points->meanMm, 3) + " mm in the mean, than before, "
                + decimals(points->beforeMm, 3) + " mm. Are the two files exchanged? Look at the result.");
}

void warnOfMismatch(const RunQuality& quality, Log& log)
{
  if (const std::vector<std::string> signs = quality.mismatchSigns(); signs.size() >= signsThatCount)
    log.warning(mismatchQuestion + joined(signs) + ". Look at the result.");
}

bool comparesLabels(const RunRequest& request)
{
  return request.movingLabels.isGiven();
}

/// A copy of a label map in memory. Throws Error(unreadableInput) for a voxel that is no whole number, or
/// that an int does not hold.
template <int D>
std::shared_ptr<Image<D>> wholeLabels(const ImagePointer<D>& labels, const std::string& name)
{
  requireWholeLabels(name, hostVoxels<D>(labels));
  for (const float label : labels->voxels)
    if (!(std::abs(label) < std::numeric_limits<int>::max()))
      failToRead(name, realText(label) + " is no label", allowedLabels);
  return std::make_shared<Image<D>>(*labels);
}

template <int D>
LabelPair<D> labelsOf(const RunRequest& request, int threads)
{
  const HeldImage<D>* const fixed = request.fixedLabels.held<D>();
  const HeldImage<D>* const moving = request.movingLabels.held<D>();
  if (fixed && moving)
    return {wholeLabels<D>(fixed->image, "--fLabels: " + request.fixedLabels.path),
            wholeLabels<D>(moving->image, "--mLabels: " + request.movingLabels.path)};
  return readLabelPair<D>({"--fLabels", request.fixedLabels.path}, {"--mLabels", request.movingLabels.path},
                          request.reading, threads);
}

template <int D>
LabelPair<D> labelsInUse(const JudgedRun<D>& run)
{
  LabelPair<D> labels = labelsOf<D>(run.request, run.host.threads);
  for (const std::shared_ptr<Image<D>>& map : {labels.first, labels.second})
    map->geometry = geometryInUse<D>(map->geometry, run.usesDirectionCosines);
  return labels;
}

}

template <int D>
void checkLabels(const RunRequest& request)
{
  if (comparesLabels(request))
    labelsOf<D>(request, request.threads);
}

template <int D>
void judgeResult(const JudgedRun<D>& run, RunSummary& summary, Log& log)
{
  const RunRequest& request = run.request;
  RunQuality quality = runQuality<D>(run.device, run.registry, run.inputs, run.given, *run.chain);
  const TimesOfSeries<D> times = timesOf<D>(run);
  if (!times.empty()) {
    quality.correlation = quality.correlationBefore = std::nullopt; // a series correlates with itself before
    quality.mutualInformation = std::nullopt;                       // and shows the same thing
    const SeriesChange &before = times.front().change, &after = times.back().change;
    if (before.level > 0 && after.level > 0) // else no voxel is bright in both, as in tiny volumes
      quality.overTime = {before.deviationPercent(), after.deviationPercent(), before.meanDvarsPercent(),
                          after.meanDvarsPercent()};
  }
  LabelPair<D> labels;
  if (comparesLabels(request)) {
    labels = labelsInUse<D>(run);
    quality.labels = labelQuality<D>(run.host, run.registry, labels, run.given, *run.chain);
    for (const GivenImage* map : {&request.movingLabels, &request.fixedLabels}) // the fixed ones win
      if (map->isFile())
        for (const auto& [label, name] : labelNamesBeside(map->path))
          if (const auto found = quality.labels->byLabel.find(label); found != quality.labels->byLabel.end())
            found->second.name = name;
  }
  if (run.medianDeterminant)
    quality.determinant = run.medianDeterminant;
  const ResultOutside outside =
      resultOutside<D>(mappedVoxels<D>(run.host, *run.chain, run.inputs.fixed.front()->geometry),
                       run.inputs.moving.front()->geometry);
  quality.outside = outside.share;
  for (const std::string& line : quality.lines())
    log.info(line);
  log.info(outside.text());
  if (!outside.warning.empty())
    log.warning(outside.warning);
  warnOfLessCorrelation(quality, log);
  warnOfPoints(quality, log);
  warnOfMismatch(quality, log);
  summary.quality = std::move(quality);
  if (!request.pictures)
    return;
  const auto start = std::chrono::steady_clock::now();
  summary.pictures = picturesOf<D>(run, labels, times);
  log.info("Pictures took " + decimals(secondsSince(start), 3) + " s.");
}

template <int D>
RunPictures picturesOfRun(const JudgedRun<D>& run)
{
  return picturesOf<D>(run, run.chain && comparesLabels(run.request) ? labelsInUse<D>(run) : LabelPair<D>{},
                       timesOf<D>(run));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(checkLabels<D>, judgeResult<D>, picturesOfRun<D>);

}
