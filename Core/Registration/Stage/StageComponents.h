#pragma once

#include "Core/Parameters/ParameterCheck.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/ImagePyramid.h"
#include "Core/Registration/ImageSampler.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Optimizer.h"
#include "Core/Registration/Registration.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// The objects that a parameter text asks for. Their numbers obey elastix's rules: one for all metrics, or
/// one for each.
template <int D>
struct StageComponents {
  std::unique_ptr<Registration> registration;
  std::vector<std::unique_ptr<CostTerm<D>>> terms;
  std::vector<std::unique_ptr<ImageSampler<D>>> samplers; // may be empty
  std::vector<std::unique_ptr<ImagePyramid<D>>> fixedPyramids, movingPyramids;
  // Images that the terms see: one of each side a term, or all that belong to the only term.
  std::size_t fixedImages = 0, movingImages = 0;
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators; // one a moving image
  std::vector<std::size_t> interpolatorOfImage; // the number of each moving image's interpolator in the text
  std::shared_ptr<Transform<D>> transform;
  std::unique_ptr<Optimizer> optimizer;

  /// The index of a term's sampler: its own or, where there are fewer samplers than terms, the first.
  std::size_t samplerOf(std::size_t term) const { return term < samplers.size() ? term : 0; }
};

/// Parameters that the stage itself reads: levels, masks, seed, combination of transforms, exact metric
/// values.
const ComponentDescription& stageDescription();

namespace stageparameters {
Parameter<bool> runResolution();
Parameter<std::int64_t> randomSeed();
Parameter<std::string> howToCombineTransforms();
Parameter<bool> newSamplesEveryIteration();
Parameter<bool> erodeMask();
Parameter<bool> erodeFixedMask();
Parameter<bool> erodeMovingMask();
Parameter<bool> erodeMaskOf(const std::string& side, std::size_t image);
Parameter<bool> cropToContent();
Parameter<bool> showExactMetricValue();
Parameter<std::int64_t> exactMetricSampleGridSpacing();
Parameter<std::int64_t> exactMetricEveryXIterations();
}

/// NumberOfResolutions. Throws Error(usage) if it is below 1.
std::size_t levelCountOf(const std::shared_ptr<const ParameterMap>&);

/// The components that a text chooses, with the labels that may stand before their parameters;
/// stageDescription() is one of them. Throws Error(usage) for unknown names and missing mandatory ones.
std::vector<ChosenComponent> chosenComponents(const Registry&, const std::shared_ptr<const ParameterMap>&);

/// The names in an entry such as (Metric ...), or elastix's default if the entry is absent.
std::vector<std::string> componentNames(const Parameters&, const std::string& role);

/// The value of HowToCombineTransforms.
Combination combinationOf(const Parameters&);

/// Throws Error(usage) for wrong numbers of components, too.
template <int D>
StageComponents<D> createComponents(const Registry&, const Parameters&);

}
