#include "Core/Registration/Stage/LevelData.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/MaskErosion.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/FeatureTerm.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera {
namespace {

constexpr double marginOfContentVoxels = 5; // of the level: a control point's distance in the shipped files

/// The images of one side at this level, by the number of the term (or of the feature) that sees them; each
/// pair of pyramid and image is computed once. An image that was computed on a CUDA device stays there until
/// leaveDevice, for samplers and interpolators to use.
template <int D>
class LevelImages {
public:
  LevelImages(Context& context, const std::vector<std::unique_ptr<ImagePyramid<D>>>& pyramids,
              const std::vector<ImagePointer<D>>& originals, std::size_t level, HeldOnCuda* originalsOnCuda,
              FilteredImages<D>* shared)
      : context_(context), pyramids_(pyramids), originals_(originals), level_(level),
        originalsOnCuda_(originalsOnCuda), shared_(onlyCountsMemory(context) ? nullptr : shared)
  {
  }

  /// The voxels of the level that samples may be taken from.
  VoxelBox<D> region(std::size_t term, const ImageGeometry<D>& level, bool cropsToContent)
  {
    const std::size_t number = indexFor(originals_, term);
    const ImagePointer<D>& full = originals_[number];
    const VoxelBox<D> region = regionOfLevel<D>(full->geometry, level);
    if (!cropsToContent)
      return region;
    hostVoxels<D>(full);
    if (!content_.contains(number))
      content_[number] = contentBox<D>(*full);
    return boxInBox<D>(level, region, full->geometry, content_[number], marginOfContentVoxels);
  }

  ImagePointer<D> of(std::size_t term)
  {
    const std::pair key{indexFor(pyramids_, term), indexFor(originals_, term)};
    const ImagePointer<D>& original = originals_[key.second];
    ImagePointer<D>& image = made_[key];
    if (!image && shared_)
      image = shared_->of(context_, original, pyramids_[key.first]->stepsOfLevel(original->geometry, level_),
                          &onCuda_, originalsOnCuda_);
    else if (!image)
      image = pyramids_[key.first]->imageOfLevel(context_, original, level_, &onCuda_, originalsOnCuda_);
    return image;
  }
  void leaveDevice() { onCuda_.clear(); }
  HeldOnCuda releaseHeld() { return std::move(onCuda_); }
  /// Also holds images of this level that are the original ones, if their voxels are on the device.
  void holdOnDevice()
  {
    for (const auto& [key, image] : made_)
      if (areVoxelsOnCuda<D>(context_, image))
        onCuda_.push_back(voxelsOnCuda<D>(context_, image));
  }

private:
  Context& context_;
  const std::vector<std::unique_ptr<ImagePyramid<D>>>& pyramids_;
  const std::vector<ImagePointer<D>>& originals_;
  std::size_t level_;
  std::map<std::pair<std::size_t, std::size_t>, ImagePointer<D>> made_;
  std::map<std::size_t, VoxelBox<D>> content_; // by the number of the original
  HeldOnCuda onCuda_;
  HeldOnCuda* originalsOnCuda_;
  FilteredImages<D>* shared_; // null: none
};

Parameter<bool> erosionOf(ImageSide side)
{
  return side == ImageSide::fixed ? stageparameters::erodeFixedMask() : stageparameters::erodeMovingMask();
}

/// One interpolator for each moving image; where kind and image are the same, they share one.
template <int D>
std::vector<Interpolator<D>*> prepareInterpolators(Context& context, const StageComponents<D>& components,
                                                   const std::vector<ImagePointer<D>>& moving,
                                                   std::size_t level)
{
  const MemoryPart part(context, "images");
  std::map<std::pair<std::size_t, const Image<D>*>, Interpolator<D>*> prepared;
  std::vector<Interpolator<D>*> interpolatorsOfImages;
  for (std::size_t i = 0; i < moving.size(); ++i) {
    Interpolator<D>*& interpolator = prepared[{components.interpolatorOfImage[i], moving[i].get()}];
    if (!interpolator) {
      interpolator = components.interpolators[i].get();
      interpolator->prepareForLevel(context, moving[i], level);
    }
    interpolatorsOfImages.push_back(interpolator);
  }
  return interpolatorsOfImages;
}

/// The mask of a term's image on one side. One mask beside several images belongs to the first of them alone,
/// as in elastix.
template <int D>
MaskPointer<D> maskOf(Context& context, const std::vector<MaskPointer<D>>& masks,
                      const std::vector<MaskPointer<D>>& parts, std::size_t images,
                      const Parameters& parameters,
                      const std::vector<std::unique_ptr<ImagePyramid<D>>>& pyramids, ImageSide side,
                      std::size_t term, std::size_t level)
{
  if (masks.empty() || (masks.size() == 1 && images > 1 && term > 0))
    return nullptr;
  const std::size_t index = indexFor(masks, term);
  const MaskPointer<D>&mask = masks[index], &part = parts.empty() ? mask : parts[index];
  if (!part || !erodesMask(parameters, side, index, level))
    return mask;
  if (onlyCountsMemory(context)) // the eroded mask takes as much
    return std::make_shared<Mask<D>>(*mask);
  MaskPointer<D> eroded =
      erodeMask<D>(context, part, pyramids[indexFor(pyramids, term)]->scheduleOfLevel(level), side);
  if (std::find(eroded->voxels.begin(), eroded->voxels.end(), 1) == eroded->voxels.end())
    failAs(ExitCode::unreadableInput, parameters.where(erosionOf(side).name),
           "level " + std::to_string(level) + ": the erosion for this level leaves no voxel of the mask",
           "(" + erosionOf(side).name + " \"false\"), or a larger mask");
  return part == mask ? eroded : intersectionOf<D>(mask, eroded);
}

}

bool erodesMask(const Parameters& parameters, ImageSide side, std::size_t mask, std::size_t level)
{
  const Parameter<bool> erosionOfSide = erosionOf(side),
                        erosionOfMask = stageparameters::erodeMaskOf(erosionOfSide.name, mask);
  if (parameters.has(erosionOfMask.name))
    return parameters.get(erosionOfMask, level);
  if (parameters.has(erosionOfSide.name))
    return parameters.get(erosionOfSide, level);
  return parameters.get(stageparameters::erodeMask(), level);
}

template <int D>
Size<D> exactMetricStep(const Parameters& parameters, std::size_t level)
{
  Size<D> step;
  for (int d = 0; d < D; ++d)
    step[d] = static_cast<std::size_t>(
        parameters.find(stageparameters::exactMetricSampleGridSpacing(), level * D + d).value_or(1));
  return step;
}

namespace {

/// The samples at which the optimizer and exact metric values will ask the cost to evaluate a term.
template <int D>
std::vector<ExpectedSamples<D>> expectedSamples(const Parameters& parameters, const Optimizer& optimizer,
                                                std::size_t level, const CostPart<D>& part)
{
  std::vector<ExpectedSamples<D>> expected;
  expected.emplace_back(part.sampler->samples(), true);
  if (const std::size_t wanted = optimizer.gridSamplesOfLevel(level); wanted > 0)
    expected.emplace_back(gridOfAbout<D>(wanted, part.fixed, part.fixedRegion, part.fixedMask), true);
  if (parameters.get(stageparameters::showExactMetricValue(), level) && !part.sampler->givesExactValues())
    expected.emplace_back(
        gridOfStep<D>(exactMetricStep<D>(parameters, level), part.fixed, part.fixedRegion, part.fixedMask),
        false);
  return expected;
}

/// The images of other terms, each with its mask, once.
template <int D>
std::vector<SampledImage<D>> othersThan(const std::vector<SampledImage<D>>& sampled, std::size_t own)
{
  std::vector<SampledImage<D>> others;
  for (const SampledImage<D>& image : sampled) {
    const auto isSame = [&](const SampledImage<D>& other) { return image.isSame(other); };
    if (!isSame(sampled[own]) && std::ranges::none_of(others, isSame))
      others.push_back(image);
  }
  return others;
}

}

template <int D>
LevelData<D> prepareLevel(Context& context, const Registry& registry, const StageInput<D>& input,
                          const Parameters& parameters, const StageComponents<D>& components,
                          const TransformChain<D>& chain, std::size_t level, HeldOnCuda* originals)
{
  LevelImages<D> fixedImages(context, components.fixedPyramids, input.fixed, level, originals,
                             input.filtered);
  LevelImages<D> movingImages(context, components.movingPyramids, input.moving, level, originals,
                              input.filtered);

  // Images come first, while nothing else needs memory.
  LevelData<D> data;
  for (std::size_t i = 0; i < components.fixedImages; ++i)
    data.fixed.push_back(fixedImages.of(i));
  for (std::size_t i = 0; i < components.movingImages; ++i)
    data.moving.push_back(movingImages.of(i));
  const std::vector<Interpolator<D>*> interpolators =
      prepareInterpolators<D>(context, components, data.moving, level);
  movingImages.leaveDevice();
  if (originals && level + 1 == parameters.levelCount()) {
    fixedImages.holdOnDevice();
    originals->clear();
  }

  const bool crops = parameters.get(stageparameters::cropToContent(), level);
  std::vector<SampledImage<D>> sampled; // one a fixed image; features after the first have no mask
  for (std::size_t t = 0; t < components.terms.size(); ++t) {
    TermLevel<D>& termLevel = data.terms.emplace_back();
    termLevel.reading = input.reading;
    termLevel.level = level;
    termLevel.fixed = data.fixed[t];
    termLevel.moving = data.moving[t];
    termLevel.fixedMask = maskOf(context, input.fixedMasks, input.erodedOfFixed, input.fixed.size(),
                                 parameters, components.fixedPyramids, ImageSide::fixed, t, level);
    termLevel.movingMask = maskOf(context, input.movingMasks, input.erodedOfMoving, input.moving.size(),
                                  parameters, components.movingPyramids, ImageSide::moving, t, level);
    termLevel.chain = &chain;
    termLevel.points = input.hasPoints ? &input.points : nullptr;
    termLevel.registry = &registry;
    termLevel.interpolator = interpolators[t];
    sampled.push_back(
        {termLevel.fixed, fixedImages.region(t, termLevel.fixed->geometry, crops), termLevel.fixedMask});
  }
  FeatureImages<D> features;
  for (std::size_t i = components.terms.size(); i < data.fixed.size(); ++i) {
    features.fixed.push_back(data.fixed[i]);
    sampled.push_back({data.fixed[i], fixedImages.region(i, data.fixed[i]->geometry, crops), nullptr});
  }
  for (std::size_t i = components.terms.size(); i < data.moving.size(); ++i)
    features.moving.push_back(interpolators[i]);
  if (auto* const term = dynamic_cast<FeatureTerm<D>*>(components.terms.front().get()))
    term->setFeatures(std::move(features));

  std::set<ImageSampler<D>*> prepared; // terms that share a sampler take the first one's image and mask
  for (std::size_t t = 0; t < components.terms.size(); ++t) {
    TermLevel<D>& termLevel = data.terms[t];
    ImageSampler<D>* sampler = nullptr;
    if (components.terms[t]->needsSampler()) {
      sampler = components.samplers[components.samplerOf(t)].get();
      if (prepared.insert(sampler).second) {
        const MemoryPart part(context, "samples");
        sampler->setRegion(sampled[t].region);
        sampler->setOtherImages(othersThan(sampled, t));
        sampler->prepareForLevel(context, termLevel.fixed, termLevel.fixedMask, level);
      }
    }
    data.parts.push_back(
        {components.terms[t].get(), sampler, termLevel.fixed, sampled[t].region, termLevel.fixedMask});
    if (!sampler || !context.onCuda())
      continue;
    termLevel.maskMayCrop = crops && onlyCountsMemory(context);
    termLevel.expected = expectedSamples<D>(parameters, *components.optimizer, level, data.parts.back());
    for (std::size_t m = 0; m < input.fixedMasks.size() && onlyCountsMemory(context); ++m)
      if (const MaskPointer<D>& mask = input.fixedMasks[m])
        termLevel.maskMayCrop = termLevel.maskMayCrop || mask->voxels.empty()
                                || erodesMask(parameters, ImageSide::fixed, m, level);
  }
  data.fixedOnCuda = fixedImages.releaseHeld();
  return data;
}

template <int D>
void prepareTerms(Context& context, const StageComponents<D>& components, LevelData<D>& data,
                  std::size_t slabs)
{
  for (std::size_t t = 0; t < components.terms.size(); ++t) {
    data.terms[t].slabs = slabs;
    components.terms[t]->prepareForLevel(context, data.terms[t]);
  }
  data.fixedOnCuda.clear();
}

template <int D>
void endLevel(const StageComponents<D>& components)
{
  for (const auto& term : components.terms)
    term->endLevel();
  for (const auto& sampler : components.samplers)
    sampler->endLevel();
  for (const auto& interpolator : components.interpolators)
    interpolator->endLevel();
  components.optimizer->endLevel();
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(exactMetricStep<D>, prepareLevel<D>, prepareTerms<D>, endLevel<D>);
}
