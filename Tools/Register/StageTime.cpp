#include "Tools/Register/StageTime.h"

#include "Tools/Register/EffectiveParameters.h"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

/// Seconds of one thread for an item, and of each further thread for an evaluation. Of linear transforms, and
/// of others. Testing/Benchmarks/registration-times measures them.
struct CpuRates {
  double sample, voxel, evaluation, thread;
};
constexpr CpuRates cpuRates[] = {{0.15e-6, 30e-9, 10e-6, 1e-6}, {0.40e-6, 90e-9, 20e-6, 1e-6}};
constexpr double cpuPreparation = 15e-9;

struct CudaRates {
  double sample, voxel, evaluation;
};
constexpr CudaRates cudaRates[] = {{0.5e-9, 0.02e-9, 140e-6}, {2e-9, 0.1e-9, 200e-6}};
constexpr double cudaPreparation = 2e-9;

/// The rates are those of as many evaluations as this for each iteration of an optimizer with a line search.
constexpr double evaluationsOfLineSearch = 2;

using Values = std::map<std::string, std::vector<std::string>>;

double valueOf(const Values& values, const std::string& name, std::size_t level)
{
  const auto found = values.find(name);
  return found == values.end() || found->second.empty()
             ? 0
             : std::stod(found->second[std::min(level, found->second.size() - 1)]);
}

}

template <int D>
StageWork workOf(const Registry& registry, const CheckedStage<D>& stage, const StageInput<D>& input)
{
  const StageComponents<D>& components = stage.prepared.components;
  Values values;
  for (const EffectiveParameter& parameter : effectiveParameters(registry, stage.text.map))
    values[parameter.name] = parameter.values;
  const double perIteration =
      values.contains("MaximumNumberOfLineSearchIterations") ? evaluationsOfLineSearch : 1;
  StageWork work;
  work.isLinear = components.transform->linear() != nullptr;
  for (const auto* images : {&input.fixed, &input.moving})
    for (const ImagePointer<D>& image : *images)
      work.imageVoxels += static_cast<double>(image->geometry.voxelCount());
  for (std::size_t level = 0; level < stage.prepared.parameters.levelCount(); ++level) {
    const double evaluations = perIteration * valueOf(values, "MaximumNumberOfIterations", level);
    work.evaluations += evaluations;
    for (std::size_t term = 0; term < components.terms.size(); ++term) {
      if (!components.terms[term]->needsSampler() || components.samplers.empty())
        continue;
      const std::size_t image = std::min(term, input.fixed.size() - 1);
      const std::size_t pyramid = std::min(term, components.fixedPyramids.size() - 1);
      const bool takesAll = components.samplers[components.samplerOf(term)]->givesLattice();
      const double items =
          takesAll ? static_cast<double>(components.fixedPyramids[pyramid]
                                             ->geometryOfLevel(input.fixed[image]->geometry, level)
                                             .voxelCount())
                   : valueOf(values, "NumberOfSpatialSamples", level);
      (takesAll ? work.voxels : work.samples) += evaluations * items;
    }
  }
  return work;
}

double cpuSeconds(const StageWork& work, int threads)
{
  const CpuRates& rates = cpuRates[work.isLinear ? 0 : 1];
  return (work.samples * rates.sample + work.voxels * rates.voxel + work.imageVoxels * cpuPreparation)
             / threads
         + work.evaluations * (rates.evaluation + rates.thread * (threads - 1));
}

double cudaSeconds(const StageWork& work)
{
  const CudaRates& rates = cudaRates[work.isLinear ? 0 : 1];
  return work.samples * rates.sample + work.voxels * rates.voxel + work.imageVoxels * cudaPreparation
         + work.evaluations * rates.evaluation;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageWork workOf<D>(const Registry&, const CheckedStage<D>&, const StageInput<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
