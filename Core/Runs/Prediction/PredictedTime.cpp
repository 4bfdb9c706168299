#include "Core/Runs/Prediction/PredictedTime.h"

#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Chain/OneSplineChain.h"
#include "Core/Registration/Fields/WholeField.h"
#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Core/Runs/EffectiveParameters.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera {
namespace {

constexpr double nanosecond = 1e-9;

// Times of the CPU in those of a voxel that is resampled by linear interpolation (Calibration::voxel).
constexpr double coefficientTaken = 10.0 / 64; // by an interpolating spline, with its prefilter
constexpr double voxelOfLabels = 7;
constexpr double preparedVoxel = 5.5; // of the images of a stage: pyramids and coefficients
constexpr double parameterMoved = 0.55, hostByteFilled = 0.07;
constexpr double mapsOfRoot = 7; // a root of an inverse, in values of the inverted chain

/// The time of T(x) for a point.
template <int D>
double mappingWork(const TransformChain<D>& chain)
{
  if (const InverseTransform<D>* const inverse = asInverse(chain))
    return mapsOfRoot * mappingWork<D>(inverse->inverted());
  double work = 0;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    work += link->transform->mappingWork();
  return work;
}

using Values = std::map<std::string, std::vector<std::string>>;

double valueOf(const Values& values, const std::string& name, std::size_t level)
{
  const auto found = values.find(name);
  return found == values.end() || found->second.empty()
             ? 0
             : std::stod(found->second[std::min(level, found->second.size() - 1)]);
}

/// How often an iteration of an optimizer evaluates the cost. Record 0025 has what was counted.
double evaluationsAnIteration(const Values& values, bool isLinear)
{
  if (!values.contains("MaximumNumberOfLineSearchIterations"))
    return 1;
  const auto kind = values.find("LineSearch");
  const std::string name = kind != values.end() && !kind->second.empty() ? kind->second.front() : "";
  return name == "BoundedStep" ? 6.3 : name == "BoundedParabola" ? 2.6 : isLinear ? 2 : 1.2;
}

/// The points of a full search at a level: of each five values the last three are bounds and step. 0 for
/// other optimizers.
double pointsOfSearch(const Values& values, std::size_t level)
{
  const auto found = values.find("FullSearchSpace" + std::to_string(level));
  if (found == values.end() || found->second.size() < 5)
    return 0;
  double points = 1;
  for (std::size_t axis = 0; axis + 5 <= found->second.size(); axis += 5) {
    const auto number = [&](std::size_t i) { return std::stod(found->second[axis + i]); };
    points *= std::floor((number(3) - number(2)) / number(4)) + 1;
  }
  return points;
}

/// Seconds of the CPU for an evaluation of all terms at a level.
template <int D>
double evaluationSeconds(const RatesInUse& rates, const CheckedStage<D>& stage, const StageInput<D>& input,
                         double drawn, std::size_t level, std::size_t parameters)
{
  const StageComponents<D>& components = stage.prepared.components;
  const Calibration& calibration = rates.calibration;
  double ns = 0;
  for (std::size_t number = 0; number < components.terms.size(); ++number) {
    const CostTerm<D>& term = *components.terms[number];
    ns += static_cast<double>(parameters) * parameterMoved * calibration.voxel;
    if (!term.needsSampler() || components.samplers.empty() || components.fixedPyramids.empty())
      continue;
    const bool isLattice = components.samplers[components.samplerOf(number)]->givesLattice();
    const std::size_t image = std::min(number, input.fixed.size() - 1),
                      pyramid = std::min(number, components.fixedPyramids.size() - 1);
    const auto samples = isLattice
                             ? static_cast<double>(components.fixedPyramids[pyramid]
                                                       ->geometryOfLevel(input.fixed[image]->geometry, level)
                                                       .voxelCount())
                             : drawn;
    const std::size_t stripes = planStripes(static_cast<std::size_t>(samples), parameters).stripes;
    const int sharing = static_cast<int>(std::min<std::size_t>(rates.threads, stripes));
    ns += samples * term.workOfSample(samples)
          * calibration.sample[std::min(D - 2, 1)][!components.transform->linear()][isLattice]
          / calibration.speedup(sharing);
  }
  return nanosecond * ns;
}

}

template <int D>
DeviceTimes timesOfImages(const RatesInUse& rates, const TransformChain<D>& chain,
                          const ImageGeometry<D>& lattice, int order, const std::vector<ImageSizes>& images,
                          std::size_t imagesAtOnce)
{
  const std::optional<OneSplineChain<D>> whole = asOneSpline<D>(chain);
  const bool isLinear = whole && !whole->spline && order != orderOfLabels;
  const auto voxels = static_cast<double>(lattice.voxelCount());
  const double lookUp = order == orderOfLabels ? voxelOfLabels
                        : order > 1            ? coefficientTaken * std::pow(order + 1, D)
                                               : 1;
  double work = isLinear
                    ? 0
                    : voxels * mappingWork<D>(chain)
                          * std::ceil(static_cast<double>(images.size()) / static_cast<double>(imagesAtOnce)),
         bytes = 0;
  for (const ImageSizes& image : images) {
    work += voxels * image.components * lookUp;
    bytes += image.voxels * image.uploadedBytes + voxels * image.components * image.resultBytes;
  }
  const Calibration& calibration = rates.calibration;
  return {nanosecond * work * calibration.voxel / calibration.speedup(rates.threads),
          nanosecond * bytes * calibration.cudaByte};
}

template <int D>
DeviceTimes timesOfField(const RatesInUse& rates, const TransformChain<D>& chain,
                         const ImageGeometry<D>& lattice, std::size_t components)
{
  const Calibration& calibration = rates.calibration;
  const auto voxels = static_cast<double>(lattice.voxelCount());
  const double bytes = voxels * static_cast<double>(components * sizeof(float)),
               filled = nanosecond * bytes * hostByteFilled * calibration.voxel; // on either device
  // A B-spline along the axes of the lattice takes less than filling the array.
  const double work = asInverse(chain) || wholeFieldOf(chain) ? voxels * mappingWork<D>(chain) : 0;
  return {filled + nanosecond * work * calibration.voxel / calibration.speedup(rates.threads),
          filled + nanosecond * bytes * calibration.cudaByte};
}

template <int D>
StageTimes timesOfStage(const RatesInUse& rates, const Registry& registry, const CheckedStage<D>& stage,
                        const StageInput<D>& input, const ChainPointer<D>& after)
{
  // Linear transforms with a line search have converged after so many iterations of a level.
  constexpr double iterationsUntilConverged = 5;
  const StageComponents<D>& components = stage.prepared.components;
  const Calibration& calibration = rates.calibration;
  Values values;
  for (const EffectiveParameter& parameter : effectiveParameters(registry, stage.text.map))
    values[parameter.name] = parameter.values;
  const bool isLinear = components.transform->linear();
  const double anIteration = evaluationsAnIteration(values, isLinear);
  StageTimes times;
  times.mayEndEarly =
      values.contains("GradientMagnitudeTolerance") || values.contains("MinimumGradientMagnitude");
  const bool endsSoon = times.mayEndEarly && anIteration > 1 && isLinear;

  double voxels = 0;
  for (const auto* images : {&input.fixed, &input.moving})
    for (const ImagePointer<D>& image : *images)
      voxels += static_cast<double>(image->geometry.voxelCount());
  const DeviceTimes preparation{nanosecond * voxels * preparedVoxel * calibration.voxel
                                    / calibration.speedup(rates.threads),
                                nanosecond * voxels * sizeof(float) * calibration.cudaByte};
  times.levels = times.expectedLevels = preparation;
  const std::vector<std::size_t> parameters = parameterCounts<D>(stage.prepared, input);
  for (std::size_t level = 0; level < stage.prepared.parameters.levelCount(); ++level) {
    const bool runs = stage.prepared.parameters.get(stageparameters::runResolution(), level);
    const double iterations = runs ? valueOf(values, "MaximumNumberOfIterations", level) : 0,
                 points = runs ? pointsOfSearch(values, level) : 0,
                 drawn = valueOf(values, "NumberOfSpatialSamples", level);
    const DeviceTimes one{evaluationSeconds<D>(rates, stage, input, drawn, level, parameters[level]),
                          calibration.cudaEvaluationSeconds};
    const auto addEvaluations = [&](DeviceTimes& sum, double evaluations) {
      sum += {evaluations * one.cpu, evaluations * one.cuda};
      return evaluations;
    };
    times.mayEndEarly |= valueOf(values, "ConvergenceWindow", level) > 0;
    times.evaluations.push_back(addEvaluations(times.levels, anIteration * iterations + points));
    addEvaluations(times.expectedLevels,
                   anIteration * (endsSoon ? std::min(iterations, iterationsUntilConverged) : iterations)
                       + points);
  }
  if (stage.resampler->writesFinalResult()) {
    const ImageSizes moving{.voxels = static_cast<double>(input.moving.front()->geometry.voxelCount()),
                            .resultBytes =
                                static_cast<double>(pixelTypeSize(stage.resampler->resultImage().pixelType))};
    times.result = timesOfImages<D>(rates, *after, input.fixed.front()->geometry,
                                    stage.resampleInterpolator->order(0), {moving}, 1);
    if (!stage.resampleInterpolator->onCuda() || !whyNotResampledOnCuda<D>(*after).empty())
      times.result.cuda = times.result.cpu; // it is made on the CPU, wherever the stage runs
  }
  return times;
}

double readingSeconds(const InputHeaders& headers, int threads)
{
  constexpr double voxel = 3, shared = 10, compressed = 20; // nanoseconds
  double ns = 0;
  for (const auto* images :
       {&headers.fixed, &headers.moving, &headers.fixedMasks, &headers.movingMasks, &headers.labels})
    for (const ImageHeader& image : *images)
      ns += static_cast<double>(image.voxelCount())
            * (voxel + shared / threads + (image.path.ends_with(".gz") ? compressed : 0));
  return nanosecond * ns;
}

double writingSeconds(const std::vector<ResultToWrite>& results, double fixedVoxels, int threads)
{
  constexpr double figures = 0.05;                    // and records, of whatever size
  constexpr double voxel = 5, shared = 100;           // nanoseconds, of figures
  constexpr double byte = 1.5, sharedCompressed = 60; // nanoseconds, of files
  double ns = fixedVoxels * (voxel + shared / threads);
  for (const ResultToWrite& result : results)
    ns += result.bytes * (result.isCompressed ? sharedCompressed / threads : byte);
  return figures + nanosecond * ns;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(timesOfImages<D>, timesOfField<D>, timesOfStage<D>);

}
