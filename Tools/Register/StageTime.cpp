#include "Tools/Register/StageTime.h"

#include "Core/Registration/Stage/StageMemory.h"
#include "Tools/Register/EffectiveParameters.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tessera {
namespace {

/// Seconds of one thread for an item, and of each further thread for an evaluation. Samples take `sample`,
/// and `farSample` more where the image lies outside of the caches. Of a voxel, `serialVoxel` is not shared
/// out among threads, nor is the time of a parameter, which the optimizer moves.
/// Testing/Benchmarks/registration-times measures them.
struct CpuRates {
  double sample, farSample, voxel, serialVoxel, evaluation, thread, parameter;
};
struct CudaRates {
  double sample, voxel, evaluation;
};
/// The first rates are for linear transforms, the second for all others.
struct RatesOfDimension {
  CpuRates cpu[2];
  CudaRates cuda[2];
};
constexpr RatesOfDimension rates2D = {
    {{5e-9, 125e-9, 17.6e-9, 0.9e-9, 10e-6, 4.8e-6, 4e-9}, {7e-9, 300e-9, 18e-9, 1.05e-9, 20e-6, 8e-6, 4e-9}},
    {{0.5e-9, 0.015e-9, 130e-6}, {2e-9, 0.03e-9, 170e-6}}};
constexpr RatesOfDimension rates3D = {{{14e-9, 128e-9, 24.1e-9, 0.9e-9, 10e-6, 4.8e-6, 4e-9},
                                       {86e-9, 300e-9, 26e-9, 1.1e-9, 20e-6, 14e-6, 4e-9}},
                                      {{0.5e-9, 0.015e-9, 130e-6}, {2e-9, 0.03e-9, 170e-6}}};
constexpr double cpuPreparation = 15e-9, cudaPreparation = 2e-9;
constexpr double cudaStage = 0.015; // loading kernels, and the first launches

const RatesOfDimension& ratesOf(const StageWork& work)
{
  return work.dimension == 2 ? rates2D : rates3D;
}

/// The share of samples whose neighbourhood lies in no cache near the processor, for an image of so many
/// voxels.
double farShare(double voxels)
{
  constexpr double half = 1e5; // voxels of an image of which half the samples are far
  return voxels / (voxels + half);
}

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

/// An optimizer with a line search evaluates the cost several times in an iteration.
double evaluationsAnIteration(const Values& values)
{
  constexpr double ofBoundedStep = 6.3, ofBoundedParabola = 3, ofMoreThuente = 2;
  if (!values.contains("MaximumNumberOfLineSearchIterations"))
    return 1;
  const auto kind = values.find("LineSearch");
  const std::string name = kind != values.end() && !kind->second.empty() ? kind->second.front() : "";
  return name == "BoundedStep"       ? ofBoundedStep
         : name == "BoundedParabola" ? ofBoundedParabola
                                     : ofMoreThuente;
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

template <int D>
StageWork workOf(const Registry& registry, const CheckedStage<D>& stage, const StageInput<D>& input)
{
  const StageComponents<D>& components = stage.prepared.components;
  Values values;
  for (const EffectiveParameter& parameter : effectiveParameters(registry, stage.text.map))
    values[parameter.name] = parameter.values;
  const double perIteration = evaluationsAnIteration(values);
  StageWork work;
  work.dimension = D;
  work.mayEndEarly =
      values.contains("GradientMagnitudeTolerance") || values.contains("MinimumGradientMagnitude");
  if (work.mayEndEarly && perIteration > 1 && components.transform->linear())
    work.expectedShare = convergedShare;
  work.isLinear = components.transform->linear() != nullptr;
  for (const auto* images : {&input.fixed, &input.moving})
    for (const ImagePointer<D>& image : *images)
      work.imageVoxels += static_cast<double>(image->geometry.voxelCount());
  const std::vector<std::size_t> parameters = parameterCounts<D>(stage.prepared, input);
  for (std::size_t level = 0; level < stage.prepared.parameters.levelCount(); ++level) {
    const double evaluations =
        perIteration * valueOf(values, "MaximumNumberOfIterations", level) + pointsOfSearch(values, level);
    work.evaluations += evaluations;
    work.parameters += evaluations * static_cast<double>(parameters[level]);
    for (std::size_t term = 0; term < components.terms.size(); ++term) {
      if (!components.terms[term]->needsSampler() || components.samplers.empty()
          || components.fixedPyramids.empty())
        continue;
      const std::size_t image = std::min(term, input.fixed.size() - 1);
      const std::size_t pyramid = std::min(term, components.fixedPyramids.size() - 1);
      const bool takesAll = components.samplers[components.samplerOf(term)]->givesLattice();
      const auto voxels = static_cast<double>(components.fixedPyramids[pyramid]
                                                  ->geometryOfLevel(input.fixed[image]->geometry, level)
                                                  .voxelCount());
      if (takesAll) {
        work.voxels += evaluations * voxels;
        continue;
      }
      const double samples = evaluations * valueOf(values, "NumberOfSpatialSamples", level);
      work.samples += samples;
      work.farSamples += samples * farShare(voxels);
    }
  }
  return work;
}

StageWork StageWork::expected() const
{
  StageWork work = *this;
  for (double* count : {&work.evaluations, &work.samples, &work.farSamples, &work.voxels, &work.parameters})
    *count *= expectedShare;
  work.expectedShare = 1;
  return work;
}

double cpuSeconds(const Calibration& calibration, const StageWork& work, int threads)
{
  const CpuRates& rates = ratesOf(work).cpu[work.isLinear ? 0 : 1];
  return calibration.cpuScale()
         * ((work.samples * rates.sample + work.farSamples * rates.farSample + work.voxels * rates.voxel
             + work.imageVoxels * cpuPreparation)
                / threads
            + work.voxels * rates.serialVoxel + work.parameters * rates.parameter
            + work.evaluations * (rates.evaluation + rates.thread * (threads - 1)));
}

double cudaSeconds(const Calibration& calibration, const StageWork& work)
{
  const CudaRates& rates = ratesOf(work).cuda[work.isLinear ? 0 : 1];
  // The time of an evaluation beside its samples is that of launches, which is the same on all GPUs.
  return calibration.cudaScale() * (work.samples * rates.sample + work.voxels * rates.voxel)
         + work.imageVoxels * cudaPreparation + work.evaluations * rates.evaluation + cudaStage;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageWork workOf<D>(const Registry&, const CheckedStage<D>&, const StageInput<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
