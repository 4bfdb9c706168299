#include "Core/Registration/Stage/StageMemory.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Stage/LevelData.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera {
namespace {

constexpr double smallArrays = 1 << 20; // bytes: results, tables of axes, what allocations are rounded up by

/// Calls visit(chain, level) with the stage's chain at each level, whose parameters are only as many as they
/// will be, and returns the last one. Where an initial transform bends space, grids are laid as if it did
/// not: what they cover is stretched as their spacing is, and asking all border voxels takes long.
template <int D, class Visit>
TransformChain<D> forEachLevel(const PreparedStage<D>& prepared, const StageInput<D>& input, Visit&& visit)
{
  MemoryCount count;
  OptimizableTransform<D>& transform = optimizable(*prepared.components.transform);
  const TransformStart<D> start{input.fixed.front(),
                                input.moving.front(),
                                nullptr,
                                nullptr,
                                isLinearChain(input.initial.get()) ? input.initial.get() : nullptr,
                                input.hasPoints ? &input.points : nullptr};
  TransformChain<D> chain{input.initial, combinationOf(prepared.parameters), prepared.components.transform,
                          transform.initialize(count.context(), start)};
  for (std::size_t level = 0; level < prepared.parameters.levelCount(); ++level) {
    transform.prepareForLevel(count.context(), level, chain.parameters);
    visit(chain, level);
  }
  return chain;
}

/// A level that is prepared as a run prepares it, on a device whose memory is only counted.
template <int D>
class CountedLevel {
public:
  CountedLevel(MemoryCount& count, const Registry& registry, const PreparedStage<D>& prepared,
               const StageInput<D>& input, const TransformChain<D>& chain, std::size_t level,
               HeldOnCuda* originals)
      : count_(count), components_(prepared.components)
  {
    Context& context = count.context();
    takePeakDeviceMemory(context);
    data_ =
        prepareLevel<D>(context, registry, input, prepared.parameters, components_, chain, level, originals);
    peakOfImages_ = takePeakDeviceMemory(context) + smallArrays;
    const std::size_t parameters = chain.transform->parameterCount();
    typename Cost<D>::Level costLevel;
    costLevel.parts = data_.parts;
    costLevel.chain = std::make_unique<TransformChain<D>>(chain);
    costLevel.scales.assign(parameters, 1);
    const MemoryPart ofCost(context, "cost");
    cost_.emplace(context, std::move(costLevel));
    const MemoryPart ofOptimizer(context, "optimizer");
    position_ = Buffer<double>(cost_->context(), parameters);
    components_.optimizer->prepareForLevel(cost_->context(), level, parameters);
  }
  ~CountedLevel() { endLevel(components_); }

  /// The largest number of slices, along the last axis, of a grid that some term is evaluated on.
  std::size_t maxSlices() const
  {
    std::size_t slices = 1;
    for (const TermLevel<D>& term : data_.terms)
      for (const ExpectedSamples<D>& samples : term.expected)
        slices = std::max(slices, samples.lattice ? samples.lattice->count[D - 1] : 0);
    return slices;
  }

  /// The memory that is held while the level runs, and the memory that its terms take beside it while they
  /// are prepared.
  DeviceMemory held(std::size_t slabs)
  {
    for (const auto& term : components_.terms)
      term->endLevel();
    takePeakDeviceMemory(count_.context());
    prepareTerms<D>(count_.context(), components_, data_, slabs);
    const double peak = takePeakDeviceMemory(count_.context());
    DeviceMemory memory = count_.memory();
    memory.add("preparation", std::max(0.0, peak - memory.bytes()));
    memory.add("small arrays", smallArrays);
    return memory;
  }
  /// The most that is held while the images are computed, before all else of the level.
  double peakOfImages() const { return peakOfImages_; }

private:
  MemoryCount& count_;
  const StageComponents<D>& components_;
  LevelData<D> data_;
  double peakOfImages_ = 0;
  std::optional<Cost<D>> cost_;
  Buffer<double> position_;
};

}

template <int D>
std::vector<LevelPlan> planStage(const Registry& registry, const PreparedStage<D>& prepared,
                                 const StageInput<D>& input, double usableBytes)
{
  std::vector<LevelPlan> plans, keeping;
  MemoryCount countOfKeeping;
  HeldOnCuda originals;
  forEachLevel(prepared, input, [&](const TransformChain<D>& chain, std::size_t level) {
    LevelPlan plan{{}, 1, usableBytes};
    DeviceMemory held;
    {
      MemoryCount count;
      CountedLevel<D> counted(count, registry, prepared, input, chain, level, nullptr);
      const double peak = std::min(counted.peakOfImages(), usableBytes); // slabs need no more
      const auto take = [&](std::size_t slabs) {
        plan.slabs = slabs;
        plan.memory = held = counted.held(slabs);
        plan.memory.add("pyramids", std::max(0.0, peak - held.bytes()));
      };
      take(1);
      const std::size_t maxSlabs = counted.maxSlices();
      while (!plan.fits() && plan.slabs < maxSlabs)
        take(std::min(maxSlabs, plan.slabs + std::max<std::size_t>(1, plan.slabs / 8)));
    }
    plans.push_back(plan);
    CountedLevel<D> counted(countOfKeeping, registry, prepared, input, chain, level, &originals);
    plan.memory = held;
    plan.memory.add("originals", counted.held(plan.slabs).bytes() - held.bytes());
    plan.memory.add("pyramids", std::max(0.0, counted.peakOfImages() - plan.memory.bytes()));
    plan.keepsOriginals = true;
    keeping.push_back(std::move(plan));
  });
  return std::ranges::all_of(keeping, &LevelPlan::fits) ? keeping : plans;
}

std::string planText(const LevelPlan& plan, std::size_t level, const std::string& device)
{
  std::string text = "level " + std::to_string(level) + ": about " + memoryText(plan.memory.bytes())
                     + " of memory of " + device + " are needed";
  if (plan.slabs > 1)
    text += " in " + std::to_string(plan.slabs) + " slabs";
  text += " (" + plan.memory.text() + ")";
  return std::isinf(plan.usableBytes) ? text : text + ", " + memoryText(plan.usableBytes) + " may be taken";
}

template <int D>
std::vector<std::size_t> parameterCounts(const PreparedStage<D>& prepared, const StageInput<D>& input)
{
  std::vector<std::size_t> counts;
  forEachLevel(prepared, input, [&](const TransformChain<D>& chain, std::size_t) {
    counts.push_back(chain.parameters.size());
  });
  return counts;
}

template <int D>
ChainPointer<D> chainAfter(const PreparedStage<D>& prepared, const StageInput<D>& input)
{
  return std::make_shared<TransformChain<D>>(
      forEachLevel(prepared, input, [](const TransformChain<D>&, std::size_t) {}));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(planStage<D>, parameterCounts<D>, chainAfter<D>);

}
