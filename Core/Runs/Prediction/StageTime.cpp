#include "Core/Runs/Prediction/StageTime.h"

#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Core/Runs/EffectiveParameters.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera {
namespace {

/// Nanoseconds for an item of one thread of the Xeon beside an H100 that record 0025 names. A sample
/// takes `sample`, more where the image lies outside of the
/// caches near the processor (`farImage`), and more where the coefficients of a B-spline do
/// (`farCoefficients`). A point is one that is mapped, and its derivative brought back, without a look at the
/// images. Testing/Benchmarks/registration-times and metric-times measure them, with a metric of mean squares
/// and without.
struct CpuRates {
  double sample, farImage, farCoefficients, voxel, point;
  double evaluation; // the optimizer's step and a row of the table
  double thread;     // of each further thread that takes part in an evaluation
};
/// Nanoseconds of an NVIDIA H200. An evaluation takes its launches; values alone take `valueVoxel`.
struct CudaRates {
  double sample, voxel, valueVoxel, evaluation, parameter;
};
/// The first rates are for linear transforms, the second for all others.
struct RatesOfDimension {
  CpuRates cpu[2];
  CudaRates cuda[2];
};
constexpr RatesOfDimension rates2D = {
    .cpu = {{.sample = 41,
             .farImage = 12,
             .farCoefficients = 0,
             .voxel = 12,
             .point = 5,
             .evaluation = 5e3,
             .thread = 5.5e3},
            {.sample = 90,
             .farImage = 12,
             .farCoefficients = 0,
             .voxel = 12,
             .point = 32,
             .evaluation = 9e3,
             .thread = 5.5e3}},
    .cuda = {{.sample = 0.5, .voxel = 0.022, .valueVoxel = 0.0125, .evaluation = 47e3, .parameter = 0},
             {.sample = 2, .voxel = 0.022, .valueVoxel = 0.0125, .evaluation = 80e3, .parameter = 0.9}}};
constexpr RatesOfDimension rates3D = {
    .cpu = {{.sample = 60,
             .farImage = 30,
             .farCoefficients = 0,
             .voxel = 19,
             .point = 7,
             .evaluation = 7e3,
             .thread = 9e3},
            {.sample = 145,
             .farImage = 30,
             .farCoefficients = 150,
             .voxel = 19,
             .point = 66,
             .evaluation = 10e3,
             .thread = 9e3}},
    .cuda = {{.sample = 0.5, .voxel = 0.022, .valueVoxel = 0.0125, .evaluation = 48e3, .parameter = 0},
             {.sample = 2, .voxel = 0.022, .valueVoxel = 0.0125, .evaluation = 90e3, .parameter = 0.9}}};
constexpr double cpuParameter = 4.5; // which the optimizer moves, and each term of several writes
constexpr double drawnPoint = 1.6;   // points that were drawn lie in no order, and take so many times as long
constexpr double cpuPreparation = 45, cudaPreparation = 1.2; // of a voxel of the images
constexpr double cpuStage = 1.5e6;
constexpr double searchPoint = 12; // a point of a search for the start
/// Starting memory and kernels, and the first run of the kernels: more of them where samples are drawn, for
/// which three machines took 14 to 42 ms.
constexpr double cudaStage = 9e6, cudaFirstLattice = 12e6, cudaFirstSamples = 28e6;
constexpr double valueShare = 0.55; // of a metric's own work, where no gradient is asked for
constexpr double nanosecond = 1e-9;

const RatesOfDimension& ratesOf(const StageWork& work)
{
  return work.dimension == 2 ? rates2D : rates3D;
}

/// The share of items that lie in no cache near the processor, of so many.
double farShare(double items, double half)
{
  return items / (items + half);
}

/// At the end of a level its parts are timed, which takes some evaluations; linear transforms take so many
/// voxels at most.
constexpr double evaluationsAtEnd = 3.5, voxelsAtEnd = 1e5;

using Values = std::map<std::string, std::vector<std::string>>;

double valueOf(const Values& values, const std::string& name, std::size_t level)
{
  const auto found = values.find(name);
  return found == values.end() || found->second.empty()
             ? 0
             : std::stod(found->second[std::min(level, found->second.size() - 1)]);
}

}

namespace {

/// Linear transforms have converged after so many of the evaluations that all iterations with a line search
/// would take: 7 to 22 % at the finest level and 21 to 55 % at the coarsest.
constexpr double convergedShare = 0.22;

/// An optimizer with a line search evaluates the cost several times in an iteration; bounded searches take
/// one gradient for them. Record 0025 has what was counted.
struct LineSearchWork {
  double evaluations = 1, gradients = 1; // of an iteration
};

LineSearchWork lineSearchWork(const Values& values, bool isLinear)
{
  if (!values.contains("MaximumNumberOfLineSearchIterations"))
    return {};
  const auto kind = values.find("LineSearch");
  const std::string name = kind != values.end() && !kind->second.empty() ? kind->second.front() : "";
  return name == "BoundedStep"       ? LineSearchWork{6.3, 1.05}
         : name == "BoundedParabola" ? LineSearchWork{2.6, 1.05}
         : isLinear                  ? LineSearchWork{2, 2}
                                     : LineSearchWork{1.2, 1.2};
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

}

namespace {

/// The result image, if one is written and its chain is one of which the work is known.
template <int D>
DeviceWork resultOf(const CheckedStage<D>& stage, const StageInput<D>& input, const TransformChain<D>& chain)
{
  DeviceWork work;
  if (!stage.resampler->writesFinalResult() || !whyNotOnCuda<D>(chain).empty())
    return work;
  const ImageSizes moving{.voxels = static_cast<double>(input.moving.front()->geometry.voxelCount()),
                          .resultBytes =
                              static_cast<double>(pixelTypeSize(stage.resampler->resultImage().pixelType))};
  addImages<D>(work, chain, input.fixed.front()->geometry, stage.resampleInterpolator->order(0), {moving}, 1);
  return work;
}

/// Adds what mapping samples one by one through each transform of a combination takes. The shares of a point
/// and the time on CUDA are those of 64^3 voxels and 2 and 20 translations.
void addCombined(const MappingWork& mapping, const TermSize& size, TermWork& work)
{
  constexpr double linearPoint = 0.25, cudaNanoseconds = 0.2;
  const double linear = std::min(mapping.linearMaps, mapping.combined);
  work.points += (1 + linearPoint * linear + mapping.combined - linear) * size.samples
                 * (size.isLattice ? 1 : drawnPoint);
  work.cudaNanoseconds += size.samples * mapping.combined * cudaNanoseconds;
}

template <int D>
TermWork workOfTerm(const CheckedStage<D>& stage, const StageInput<D>& input, const Values& values,
                    std::size_t level, std::size_t parameters, std::size_t number)
{
  const StageComponents<D>& components = stage.prepared.components;
  const CostTerm<D>& term = *components.terms[number];
  TermSize size{.level = level,
                .parameters = static_cast<double>(parameters),
                .isLinear = components.transform->linear() != nullptr,
                .hasMasks = !input.fixedMasks.empty() || !input.movingMasks.empty(),
                .pointPairs = static_cast<double>(input.points.fixedMm.size())};
  TermWork work;
  if (term.needsSampler() && !components.samplers.empty() && !components.fixedPyramids.empty()) {
    const std::size_t image = std::min(number, input.fixed.size() - 1),
                      pyramid = std::min(number, components.fixedPyramids.size() - 1);
    work.imageVoxels = static_cast<double>(
        components.fixedPyramids[pyramid]->geometryOfLevel(input.fixed[image]->geometry, level).voxelCount());
    size.isLattice = components.samplers[components.samplerOf(number)]->givesLattice();
    size.samples = size.isLattice ? work.imageVoxels : valueOf(values, "NumberOfSpatialSamples", level);
  }
  const TermTime time = term.timeOf(size);
  (size.isLattice ? work.voxels : work.samples) = time.samples;
  (size.isLattice ? work.cudaVoxels : work.cudaSamples) = time.cudaSamples;
  work.points = time.points * (size.isLattice ? 1 : drawnPoint);
  work.cpuNanoseconds = time.cpuNanoseconds;
  work.cudaNanoseconds = time.cudaNanoseconds;
  MappingWork mapping;
  components.transform->addWork(mapping);
  if (mapping.combined > 0)
    addCombined(mapping, size, work);
  work.cudaLaunchNanoseconds = time.cudaLaunchNanoseconds;
  work.stripes = static_cast<double>(
      planStripes(static_cast<std::size_t>(std::max(size.samples, size.pointPairs)), parameters).stripes);
  return work;
}

}

template <int D>
StageWork workOf(const Registry& registry, const CheckedStage<D>& stage, const StageInput<D>& input,
                 const std::shared_ptr<const TransformChain<D>>& after)
{
  const StageComponents<D>& components = stage.prepared.components;
  Values values;
  for (const EffectiveParameter& parameter : effectiveParameters(registry, stage.text.map))
    values[parameter.name] = parameter.values;
  const LineSearchWork perIteration = lineSearchWork(values, components.transform->linear());
  StageWork work;
  work.dimension = D;
  work.mayEndEarly =
      values.contains("GradientMagnitudeTolerance") || values.contains("MinimumGradientMagnitude");
  if (!input.initial)
    work.search = optimizable(*components.transform).searchForStart();
  work.result = resultOf<D>(stage, input, *after);
  if (work.mayEndEarly && perIteration.evaluations > 1 && components.transform->linear())
    work.expectedShare = convergedShare;
  work.isLinear = components.transform->linear() != nullptr;
  for (const auto* images : {&input.fixed, &input.moving})
    for (const ImagePointer<D>& image : *images)
      work.imageVoxels += static_cast<double>(image->geometry.voxelCount());
  const std::vector<std::size_t> parameters = parameterCounts<D>(stage.prepared, input);
  for (std::size_t level = 0; level < stage.prepared.parameters.levelCount(); ++level) {
    LevelWork ofLevel;
    const double iterations = valueOf(values, "MaximumNumberOfIterations", level);
    ofLevel.evaluations = perIteration.evaluations * iterations + pointsOfSearch(values, level);
    ofLevel.gradients = perIteration.gradients * iterations;
    ofLevel.parameters = static_cast<double>(parameters[level]);
    work.mayEndEarly |= valueOf(values, "ConvergenceWindow", level) > 0;
    for (std::size_t term = 0; term < components.terms.size(); ++term)
      ofLevel.terms.push_back(workOfTerm<D>(stage, input, values, level, parameters[level], term));
    work.levels.push_back(ofLevel);
  }
  return work;
}

StageWork StageWork::expected() const
{
  StageWork work = *this;
  for (LevelWork& level : work.levels) {
    level.evaluations *= expectedShare;
    level.gradients *= expectedShare;
  }
  work.expectedShare = 1;
  return work;
}

namespace {

/// How many times as fast so many threads of this machine are as one of the machine that set the rates.
double speedOf(const Calibration& calibration, int threads)
{
  return shippedCalibration().cpuSpeedup(threads) / calibration.cpuScale(threads);
}

double searchSeconds(const Calibration& calibration, const StageWork& work, int threads)
{
  double ns = 0;
  for (const SearchPart& part : work.search)
    ns += part.points * searchPoint / speedOf(calibration, std::min(threads, part.threads));
  return nanosecond * ns;
}

}

double cpuSeconds(const Calibration& calibration, const StageWork& work, int threads)
{
  const CpuRates& rates = ratesOf(work).cpu[work.isLinear ? 0 : 1];
  constexpr double farImageVoxels = 1e6, farParameters = 1e4; // of which half is far
  const double alone = speedOf(calibration, 1);
  double ns = cpuStage / alone + work.imageVoxels * cpuPreparation / speedOf(calibration, threads);
  for (const LevelWork& level : work.levels) {
    double oneEvaluation =
               (rates.evaluation + level.parameters * cpuParameter * static_cast<double>(level.terms.size()))
               / alone,
           atEnd = 0;
    for (const TermWork& term : level.terms) {
      const int sharing = static_cast<int>(std::min<double>(threads, term.stripes));
      const double sample = rates.sample + rates.farImage * farShare(term.imageVoxels, farImageVoxels)
                            + rates.farCoefficients * farShare(level.parameters, farParameters),
                   shared = term.samples * sample + term.voxels * rates.voxel + term.points * rates.point
                            + term.cpuNanoseconds;
      oneEvaluation += shared / speedOf(calibration, sharing) + rates.thread * (sharing - 1) / alone;
      if (work.isLinear && term.voxels > 0)
        atEnd += shared / alone * std::min(1.0, voxelsAtEnd / term.voxels);
    }
    ns += level.evaluations * oneEvaluation + (atEnd > 0 ? atEnd : evaluationsAtEnd * oneEvaluation);
  }
  const double result =
      cpuSeconds(calibration, work.dimension, work.result, threads) - calibration.cpuStartSeconds;
  return nanosecond * ns + searchSeconds(calibration, work, threads) + result;
}

double cudaSeconds(const Calibration& calibration, const StageWork& work, int threads)
{
  const CudaRates& rates = ratesOf(work).cuda[work.isLinear ? 0 : 1];
  // The time of an evaluation beside its samples is that of launches, which is the same on all GPUs.
  double ns = work.imageVoxels * cudaPreparation + cudaStage, first = 0;
  for (const LevelWork& level : work.levels) {
    double oneEvaluation = rates.evaluation + level.parameters * rates.parameter, withGradient = 0,
           valueOnly = 0;
    for (const TermWork& term : level.terms) {
      const double samples = term.samples + term.cudaSamples, voxels = term.voxels + term.cudaVoxels;
      oneEvaluation += term.cudaLaunchNanoseconds;
      withGradient += samples * rates.sample + voxels * rates.voxel + term.cudaNanoseconds;
      valueOnly += samples * rates.sample + voxels * rates.valueVoxel
                   + (voxels > 0 ? valueShare : 1) * term.cudaNanoseconds;
      first = std::max(first, voxels > 0 ? cudaFirstLattice : samples > 0 ? cudaFirstSamples : 0);
    }
    ns += level.evaluations * oneEvaluation
          + calibration.cudaScale()
                * (level.gradients * withGradient + (level.evaluations - level.gradients) * valueOnly);
  }
  const double result =
      cudaSeconds(calibration, work.dimension, work.result, threads) - calibration.cudaStartSeconds;
  return nanosecond * (ns + first) + searchSeconds(calibration, work, threads) + result;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageWork workOf<D>(const Registry&, const CheckedStage<D>&, const StageInput<D>&,                \
                               const std::shared_ptr<const TransformChain<D>>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
