#include "Core/Registration/Stage/StageMemory.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Stage/LevelData.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace tessera {
namespace {

constexpr double smallArrays = 1 << 20; // bytes: results, tables of axes, what allocations are rounded up by

/// The stage's chain at each level. Where an initial transform bends space, grids are laid as if it did not:
/// what they cover is stretched as their spacing is, and asking all border voxels takes long.
template <int D>
std::vector<TransformChain<D>> chainsOf(Context& host, const PreparedStage<D>& prepared,
                                        const StageExtent<D>& stage)
{
  const bool asksInitial = stage.initialIsKnown && isLinearChain(stage.initial.get());
  TransformChain<D> chain;
  chain.initial = stage.initial;
  chain.combination = combinationOf(prepared.parameters);
  chain.transform = prepared.components.transform;
  const auto models =
      optimizable(*chain.transform)
          .modelsOfLevels(host, stage.fixed.front(), asksInitial ? stage.initial.get() : nullptr);
  std::vector<TransformChain<D>> chains(prepared.parameters.levelCount(), chain);
  for (std::size_t level = 0; level < models.size(); ++level)
    chains[level].transform = models[level];
  return chains;
}

/// One level of a stage whose components are made.
template <int D>
class LevelExtent {
public:
  LevelExtent(const Registry& registry, const PreparedStage<D>& prepared, const StageExtent<D>& stage,
              const TransformChain<D>& chain, std::size_t level, double usableBytes)
      : registry_(registry), parameters_(prepared.parameters), stage_(stage),
        components_(prepared.components), level_(level), chain_(chain), usableBytes_(usableBytes)
  {
    addImages();
    addMasks();
    addSamples();
    addVectors();
    addOriginals();
    addPyramids();
    for (std::size_t t = 0; t < components_.terms.size(); ++t)
      terms_.push_back(termExtent(t));
  }

  /// The largest number of slices, along the last axis, of a grid that some term is evaluated on.
  std::size_t maxSlices() const
  {
    std::size_t slices = 1;
    for (const TermExtent<D>& term : terms_)
      for (const auto* lattices : {&term.lattices, &term.valueLattices})
        for (const VoxelLattice<D>& lattice : *lattices)
          slices = std::max(slices, lattice.count[D - 1]);
    return slices;
  }

  /// `keepsOriginals`: as LevelPlan.
  DeviceMemory memory(std::size_t slabs, bool keepsOriginals = false)
  {
    DeviceMemory memory = images_;
    if (keepsOriginals && level_ + 1 < parameters_.levelCount())
      memory.add("originals", originalBytes_);
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      terms_[t].slabs = slabs;
      memory.add(components_.terms[t]->deviceMemory(terms_[t]));
    }
    memory.add("small arrays", smallArrays);
    const double pyramids =
        keepsOriginals ? pyramidBytesOfKept_ : std::min(pyramidBytes_, usableBytes_); // slabs need no more
    memory.add("pyramids", std::max(0.0, pyramids - memory.bytes()));
    return memory;
  }

private:
  using ImageKey = std::tuple<ImageSide, std::size_t, std::size_t>; // pyramid and file

  /// An image of the level, without voxels; the same for all terms that share it.
  ImagePointer<D> imageOf(ImageSide side, std::size_t term)
  {
    const bool isFixed = side == ImageSide::fixed;
    const auto& pyramids = isFixed ? components_.fixedPyramids : components_.movingPyramids;
    const auto& originals = isFixed ? stage_.fixed : stage_.moving;
    const std::size_t pyramid = indexFor(pyramids, term), file = indexFor(originals, term);
    ImagePointer<D>& image = levelImages_[{side, pyramid, file}];
    if (!image)
      image = std::make_shared<Image<D>>(
          Image<D>{pyramids[pyramid]->geometryOfLevel(originals[file], level_), {}});
    return image;
  }

  /// The images that samplers and interpolators take, which stay while other arrays are counted.
  void addImages()
  {
    std::set<std::pair<std::size_t, ImagePointer<D>>> interpolated;
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      if (components_.terms[t]->needsSampler())
        fixedOnCuda_.push_back(voxelsOnCuda<D>(count_.context(), imageOf(ImageSide::fixed, t)));
      const ImagePointer<D> moving = imageOf(ImageSide::moving, t);
      if (interpolated.insert({components_.interpolatorOfTerm[t], moving}).second)
        components_.interpolators[t]->prepareForLevel(count_.context(), moving, level_);
    }
    images_.add("images", count_.bytes());
    for (const auto& interpolator : components_.interpolators)
      interpolator->endLevel();
  }

  /// Masks are shared by the terms of a file, but for eroded masks.
  void addMasks()
  {
    double masks = 0;
    std::set<std::pair<ImageSide, std::size_t>> known;
    const auto add = [&](const std::vector<MaskPointer<D>>& ofSide, ImageSide side, std::size_t term) {
      if (ofSide.empty() || !ofSide[indexFor(ofSide, term)])
        return;
      const std::size_t mask = indexFor(ofSide, term);
      masksOnCuda_.push_back(voxelsOnCuda<D>(count_.context(), ofSide[mask]));
      if (erodesMask(parameters_, side, mask, level_) || known.insert({side, mask}).second)
        masks += static_cast<double>(ofSide[mask]->geometry.voxelCount());
    };
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      if (components_.terms[t]->needsSampler())
        add(stage_.fixedMasks, ImageSide::fixed, t);
      add(stage_.movingMasks, ImageSide::moving, t);
    }
    images_.add("masks", masks);
  }

  /// The samplers' own arrays, beside the images and masks that are held already. As in prepareLevel, terms
  /// that share a sampler take the first one's image and mask.
  void addSamples()
  {
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      const std::size_t s = components_.samplerOf(t);
      if (!components_.terms[t]->needsSampler() || sampled_.contains(s))
        continue;
      const double before = count_.bytes();
      Sampled& sampled = sampled_[s];
      sampled.term = t;
      sampled.fixed = imageOf(ImageSide::fixed, t);
      sampled.region = regionOfLevel<D>(stage_.fixed[indexFor(stage_.fixed, t)], sampled.fixed->geometry);
      if (!stage_.fixedMasks.empty())
        sampled.mask = stage_.fixedMasks[indexFor(stage_.fixedMasks, t)];
      ImageSampler<D>& sampler = *components_.samplers[s];
      sampler.setRegion(sampled.region);
      sampler.prepareForLevel(count_.context(), sampled.fixed, sampled.mask, level_);
      if (const auto* lattice = std::get_if<VoxelLattice<D>>(&sampler.samples()))
        sampled.lattice = *lattice;
      else
        sampled.listed = positionCount<D>(sampler.samples());
      images_.add("samples", count_.bytes() - before);
      sampler.endLevel();
    }
  }

  /// The vectors of optimizer and cost, if they lie on the device.
  void addVectors()
  {
    const std::size_t parameters = chain_.transform->parameterCount();
    const Context vectors = vectorContext<D>(count_.context(), *chain_.transform);
    if (!vectors.onCuda())
      return;
    const double before = count_.bytes();
    const Buffer<double> position(vectors, parameters);
    components_.optimizer->prepareForLevel(vectors, level_, parameters);
    const double withOptimizer = count_.bytes();
    images_.add("optimizer", withOptimizer - before);
    components_.optimizer->endLevel();

    const double beforeCost = count_.bytes();
    typename Cost<D>::Level level;
    level.parts.resize(components_.terms.size());
    level.chain = std::make_unique<TransformChain<D>>(chain_);
    level.scales.assign(parameters, 1);
    const Cost<D> cost(count_.context(), std::move(level));
    images_.add("cost", count_.bytes() - beforeCost);
  }

  /// Images at full resolution that were filtered for this level or one before. Where a sampler works in the
  /// original itself, it is counted among the images of the level.
  void addOriginals()
  {
    std::set<std::pair<ImageSide, std::size_t>> known;
    const auto add = [&](const auto& pyramids, const std::vector<ImageGeometry<D>>& originals, ImageSide side,
                         std::size_t term) {
      const ImagePyramid<D>& pyramid = *pyramids[indexFor(pyramids, term)];
      const std::size_t image = indexFor(originals, term);
      bool isFiltered = false;
      for (std::size_t level = 0; level <= level_; ++level)
        isFiltered = isFiltered || !pyramid.stepsOfLevel(originals[image], level).empty();
      if (!isFiltered || !known.insert({side, image}).second)
        return;
      const auto bytes = static_cast<double>(originals[image].voxelCount() * sizeof(float));
      keptBytes_ += bytes;
      const bool isSampled = side == ImageSide::fixed && components_.terms[term]->needsSampler();
      originalBytes_ += isSampled && pyramid.stepsOfLevel(originals[image], level_).empty() ? 0 : bytes;
    };
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      add(components_.fixedPyramids, stage_.fixed, ImageSide::fixed, t);
      add(components_.movingPyramids, stage_.moving, ImageSide::moving, t);
    }
  }

  /// Follows LevelImages: an image that is made stays on the device until all are made.
  void addPyramids()
  {
    double made = smallArrays;
    std::set<std::tuple<ImageSide, std::size_t, std::size_t>> known;
    const auto add = [&](const auto& pyramids, const std::vector<ImageGeometry<D>>& originals, ImageSide side,
                         std::size_t term) {
      const std::size_t pyramid = indexFor(pyramids, term), image = indexFor(originals, term);
      const auto steps = pyramids[pyramid]->stepsOfLevel(originals[image], level_);
      if (steps.empty() || !known.insert({side, pyramid, image}).second)
        return;
      const Size<D>& size = originals[image].size;
      const double others = keptBytes_ - static_cast<double>(originals[image].voxelCount() * sizeof(float));
      pyramidBytes_ = std::max(pyramidBytes_, made + filteredImageDeviceBytes<D>(size, steps));
      pyramidBytesOfKept_ =
          std::max(pyramidBytesOfKept_, made + others + filteredImageDeviceBytes<D>(size, steps, true));
      made += static_cast<double>(steps.back().geometry.voxelCount() * sizeof(float));
    };
    for (std::size_t t = 0; t < components_.terms.size(); ++t) {
      add(components_.fixedPyramids, stage_.fixed, ImageSide::fixed, t);
      add(components_.movingPyramids, stage_.moving, ImageSide::moving, t);
    }
    double coefficients = 0;
    for (std::size_t t = 0; t < components_.interpolators.size(); ++t)
      if (!components_.interpolators[t]->readsVoxels())
        coefficients +=
            static_cast<double>(imageOf(ImageSide::moving, t)->geometry.voxelCount()) * sizeof(float);
    pyramidBytesOfKept_ =
        std::max(pyramidBytesOfKept_, made + keptBytes_ + coefficients); // while interpolators are prepared
  }

  TermExtent<D> termExtent(std::size_t t)
  {
    TermExtent<D> extent;
    extent.level = level_;
    extent.chain = &chain_;
    extent.pointPairs = stage_.pointPairs;
    extent.registry = &registry_;
    extent.movingMasked = !stage_.movingMasks.empty() && stage_.movingMasks[indexFor(stage_.movingMasks, t)];
    if (!components_.terms[t]->needsSampler())
      return extent;
    const std::size_t s = components_.samplerOf(t);
    const Sampled& sampled = sampled_.at(s);
    extent.maskMayCrop =
        sampled.mask
        && (sampled.mask->voxels.empty()
            || erodesMask(parameters_, ImageSide::fixed, indexFor(stage_.fixedMasks, sampled.term), level_));
    extent.listedSamples = sampled.listed;
    if (sampled.lattice)
      extent.lattices.push_back(*sampled.lattice);
    if (const std::size_t wanted = components_.optimizer->gridSamplesOfLevel(level_); wanted > 0)
      extent.lattices.push_back(gridOfAbout<D>(wanted, sampled.fixed, sampled.region, sampled.mask));
    if (parameters_.get(stageparameters::showExactMetricValue(), level_)
        && !components_.samplers[s]->givesExactValues())
      extent.valueLattices.push_back(gridOfStep<D>(exactMetricStep<D>(parameters_, level_), sampled.fixed,
                                                   sampled.region, sampled.mask));
    return extent;
  }

  const Registry& registry_;
  const Parameters& parameters_;
  const StageExtent<D>& stage_;
  const StageComponents<D>& components_;
  std::size_t level_;
  const TransformChain<D>& chain_;
  double usableBytes_;
  double keptBytes_ = 0,
         originalBytes_ = 0; // of originals, while the level's images are computed and afterwards
  double pyramidBytes_ = 0,
         pyramidBytesOfKept_ = 0; // the peak while they are computed, before all else of the level
  /// A sampler's image and mask, and the samples that it makes of them.
  struct Sampled {
    std::size_t term = 0;  // the first one that takes them
    ImagePointer<D> fixed; // without voxels
    MaskPointer<D> mask;   // null: none; without voxels: not read yet
    VoxelBox<D> region;
    std::optional<VoxelLattice<D>> lattice;
    std::size_t listed = 0; // points, if there is no lattice
  };
  MemoryCount count_;
  std::map<ImageKey, ImagePointer<D>> levelImages_;
  std::vector<std::shared_ptr<const Buffer<float>>> fixedOnCuda_;
  std::vector<std::shared_ptr<const Buffer<std::uint8_t>>> masksOnCuda_;
  std::map<std::size_t, Sampled> sampled_; // by the sampler's index
  DeviceMemory images_;                    // with all else that does not depend on slabs
  std::vector<TermExtent<D>> terms_;
};

}

template <int D>
StageExtent<D> extentOf(const StageInput<D>& input)
{
  StageExtent<D> extent;
  for (const ImagePointer<D>& image : input.fixed)
    extent.fixed.push_back(image->geometry);
  for (const ImagePointer<D>& image : input.moving)
    extent.moving.push_back(image->geometry);
  extent.fixedMasks = input.fixedMasks;
  extent.movingMasks = input.movingMasks;
  extent.pointPairs = input.points.fixedMm.size();
  extent.initial = input.initial;
  return extent;
}

template <int D>
std::vector<LevelPlan> planStage(Context& host, const Registry& registry, const PreparedStage<D>& prepared,
                                 const StageExtent<D>& stage, double usableBytes)
{
  const std::vector<TransformChain<D>> chains = chainsOf<D>(host, prepared, stage);
  std::vector<LevelPlan> plans;
  std::deque<LevelExtent<D>> extents;
  for (std::size_t level = 0; level < chains.size(); ++level) {
    LevelExtent<D>& extent =
        extents.emplace_back(registry, prepared, stage, chains[level], level, usableBytes);
    LevelPlan plan{extent.memory(1), 1, usableBytes};
    const std::size_t maxSlabs = extent.maxSlices();
    while (!plan.fits() && plan.slabs < maxSlabs) {
      const std::size_t more = plan.slabs + std::max<std::size_t>(1, plan.slabs / 8);
      plan.slabs = std::min(maxSlabs, more);
      plan.memory = extent.memory(plan.slabs);
    }
    plans.push_back(std::move(plan));
  }
  std::vector<LevelPlan> keeping = plans;
  for (std::size_t level = 0; level < keeping.size(); ++level) {
    keeping[level].memory = extents[level].memory(plans[level].slabs, true);
    keeping[level].keepsOriginals = true;
  }
  return std::all_of(keeping.begin(), keeping.end(), [](const LevelPlan& plan) { return plan.fits(); })
             ? keeping
             : plans;
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
std::shared_ptr<const TransformChain<D>> chainAfter(Context& host, const PreparedStage<D>& prepared,
                                                    const StageExtent<D>& stage)
{
  return std::make_shared<TransformChain<D>>(chainsOf<D>(host, prepared, stage).back());
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template StageExtent<D> extentOf(const StageInput<D>&);                                                    \
  template std::vector<LevelPlan> planStage(Context&, const Registry&, const PreparedStage<D>&,              \
                                            const StageExtent<D>&, double);                                  \
  template std::shared_ptr<const TransformChain<D>> chainAfter(Context&, const PreparedStage<D>&,            \
                                                               const StageExtent<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
