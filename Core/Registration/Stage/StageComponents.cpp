#include "Core/Registration/Stage/StageComponents.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/FeatureTerm.h"
#include "Core/Registration/Stage/Convergence.h"
#include "Core/Registration/Terms/TermOnImages.h"

#include <array>

namespace tessera {
namespace {

/// An entry that names components, and the component that elastix uses if it is absent. Without such a
/// default the entry is mandatory, or nothing takes its place.
struct RoleKey {
  const char* role;
  const char* defaultName;
  bool mandatory;
};

constexpr std::array<RoleKey, 10> roleKeys{{
    {"Registration", "MultiResolutionRegistration", false},
    {"FixedImagePyramid", "FixedSmoothingImagePyramid", false},
    {"MovingImagePyramid", "MovingSmoothingImagePyramid", false},
    {"Interpolator", "BSplineInterpolator", false},
    {"ImageSampler", "", false},
    {"Metric", "", true},
    {"Optimizer", "", true},
    {"Transform", "", true},
    {"ResampleInterpolator", "FinalBSplineInterpolator", false},
    {"Resampler", "DefaultResampler", false},
}};

Parameter<std::string> roleParameter(const RoleKey& key)
{
  return textParameter(key.role, key.defaultName, Arity::list, "name of the component of this role");
}

const Parameter<std::int64_t> numberOfResolutions =
    integerParameter("NumberOfResolutions", 3, 1, Arity::single, "", "levels, coarse to fine")
        .atMost(32); // default factors are powers of two

/// The component of a role that the file does not name; empty: none. Elastix up to 3.8 drew voxels at random
/// if a file named no sampler, and these metrics are of that time (elxMetricBase.hxx, ConfigureImageSampler).
std::string defaultName(const Parameters& parameters, const RoleKey& key)
{
  if (key.role != std::string_view("ImageSampler"))
    return key.defaultName;
  const auto isOld = [](const std::string& metric) { return metric.starts_with("MattesMutualInformation"); };
  return std::ranges::any_of(componentNames(parameters, "Metric"), isOld) ? "Random" : "";
}

/// One value for all metrics (or moving images), or one for each.
void checkCount(const Parameters& parameters, const std::string& role, std::size_t given, std::size_t all,
                const std::string& things)
{
  if (given == 1 || given == all)
    return;
  parameters.fail(role, std::to_string(given) + " for " + std::to_string(all) + " " + things,
                  "Allowed: one for all " + things + ", or one for each");
}

void checkCounts(const Parameters& parameters, std::size_t metrics, bool takesFeatures)
{
  const std::size_t fixedPyramids = componentNames(parameters, "FixedImagePyramid").size();
  const std::size_t movingPyramids = componentNames(parameters, "MovingImagePyramid").size();
  const std::size_t samplers = componentNames(parameters, "ImageSampler").size();
  const std::size_t interpolators = componentNames(parameters, "Interpolator").size();
  if (takesFeatures)
    return checkCount(parameters, "Interpolator", interpolators, movingPyramids, "moving image pyramids");
  checkCount(parameters, "Interpolator", interpolators, metrics, "metrics");
  checkCount(parameters, "FixedImagePyramid", fixedPyramids, metrics, "metrics");
  checkCount(parameters, "MovingImagePyramid", movingPyramids, metrics, "metrics");
  if (samplers > 0 && samplers < metrics && fixedPyramids > samplers)
    parameters.fail("ImageSampler", "fewer samplers than fixed image pyramids",
                    "Allowed: a sampler for each fixed image pyramid");
}

/// Sampler i belongs to metric i. A surplus of samplers, or a single one, is treated as in elastix.
std::string labelOf(const std::string& role, std::size_t index)
{
  return role + std::to_string(index);
}

}

std::vector<std::string> componentNames(const Parameters& parameters, const std::string& role)
{
  for (const RoleKey& key : roleKeys) {
    if (role != key.role)
      continue;
    std::vector<std::string> names = parameters.all(roleParameter(key));
    if (const std::string name = names.empty() ? defaultName(parameters, key) : ""; !name.empty())
      names = {name};
    if (names.empty() && key.mandatory)
      failAs(ExitCode::usage, parameters.map().fileName(),
             "(" + role + "): not given"
                 + (parameters.map().find("TransformParameters")
                        ? ": this is a transform file, which -t0 takes"
                        : ""),
             "a component of this role; --list-components lists them");
    return names;
  }
  throw Error(ExitCode::usage, role + ": no such role of components.");
}

const ComponentDescription& stageDescription()
{
  static const ComponentDescription description = [] {
    ComponentDescription d{"", "Stage", "Parameters that every stage reads, whatever its components."};
    for (const RoleKey& key : roleKeys)
      d.parameters.push_back(roleParameter(key));
    d.parameters.push_back(numberOfResolutions);
    d.parameters.push_back(stageparameters::runResolution());
    d.parameters.push_back(stageparameters::randomSeed());
    d.parameters.push_back(stageparameters::howToCombineTransforms());
    d.parameters.push_back(stageparameters::newSamplesEveryIteration());
    d.parameters.push_back(stageparameters::erodeMask());
    d.parameters.push_back(stageparameters::erodeFixedMask());
    d.parameters.push_back(stageparameters::erodeMovingMask());
    d.parameters.push_back(stageparameters::cropToContent());
    d.parameters.push_back(stageparameters::showExactMetricValue());
    d.parameters.push_back(stageparameters::exactMetricSampleGridSpacing());
    d.parameters.push_back(stageparameters::exactMetricEveryXIterations());
    for (const ParameterInfo& parameter : Convergence::parameters())
      d.parameters.push_back(parameter);
    for (int image = 0; image < 10; ++image)
      for (const char* side : {"ErodeFixedMask", "ErodeMovingMask"})
        d.parameters.push_back(stageparameters::erodeMaskOf(side, image));
    return d;
  }();
  return description;
}

namespace stageparameters {

Parameter<bool> runResolution()
{
  return booleanParameter("RunResolution", true, Arity::perLevel,
                          "whether a level is run; one that is not only lays its grid, as for a start that "
                          "is near already (--start-at)");
}

Parameter<std::int64_t> randomSeed()
{
  return integerParameter("RandomSeed", 121212, 0, Arity::single, "",
                          "seed of every random number of the stage");
}

Parameter<std::string> howToCombineTransforms()
{
  return textParameter("HowToCombineTransforms", "Compose", Arity::single,
                       "with an initial transform T0: \"Compose\" T1(T0(x)), \"Add\" T0(x) + T1(x) - x",
                       {"Compose", "Add"});
}

Parameter<bool> newSamplesEveryIteration()
{
  return booleanParameter("NewSamplesEveryIteration", false, Arity::perLevel,
                          "draw new samples for every iteration");
}

Parameter<bool> erodeMask()
{
  return booleanParameter(
      "ErodeMask", true, Arity::perLevel,
      "erode the masks by the width of the pyramid's smoothing, which would mix in voxels from outside");
}

Parameter<bool> erodeFixedMask()
{
  return booleanParameter("ErodeFixedMask", true, Arity::perLevel,
                          "the same for the fixed masks; overrides ErodeMask");
}

Parameter<bool> erodeMovingMask()
{
  return booleanParameter("ErodeMovingMask", true, Arity::perLevel,
                          "the same for the moving masks; overrides ErodeMask");
}

Parameter<bool> erodeMaskOf(const std::string& side, std::size_t image)
{
  return booleanParameter(side + std::to_string(image), true, Arity::perLevel,
                          "the same for one mask; overrides the others");
}

Parameter<bool> cropToContent()
{
  return booleanParameter(
      "CropToContent", false, Arity::perLevel,
      "take samples from the box of what the fixed image shows, and 5 voxels of the level around it: outer "
      "slices of one value are left out; results keep the whole grid");
}

Parameter<bool> showExactMetricValue()
{
  return booleanParameter("ShowExactMetricValue", false, Arity::perLevel,
                          "add the metric over a regular grid to the iteration table");
}

Parameter<std::int64_t> exactMetricSampleGridSpacing()
{
  return integerParameter("ExactMetricSampleGridSpacing", 1, 1, Arity::perLevelAndDimension, "voxels",
                          "step of the grid for the exact metric value");
}

Parameter<std::int64_t> exactMetricEveryXIterations()
{
  return integerParameter("ExactMetricEveryXIterations", 1, 1, Arity::perLevel, "iterations",
                          "how often the exact metric value is computed");
}

}

std::size_t levelCountOf(const std::shared_ptr<const ParameterMap>& map)
{
  return static_cast<std::size_t>(Parameters(map, "", 3, 1).get(numberOfResolutions));
}

std::vector<ChosenComponent> chosenComponents(const Registry& registry,
                                              const std::shared_ptr<const ParameterMap>& map)
{
  const Parameters parameters(map, "", 3, levelCountOf(map));
  std::vector<ChosenComponent> chosen{{"", &stageDescription()}};
  for (const RoleKey& key : roleKeys) {
    const std::vector<std::string> names = componentNames(parameters, key.role);
    for (std::size_t i = 0; i < names.size(); ++i)
      chosen.push_back(
          {labelOf(key.role, i), &registry.require(key.role, names[i], parameters.where(key.role))});
  }
  return chosen;
}

Combination combinationOf(const Parameters& parameters)
{
  return parameters.get(stageparameters::howToCombineTransforms()) == "Add" ? Combination::add
                                                                            : Combination::compose;
}

namespace {

/// Warns of weights that turn the registration around or leave it without images.
template <int D>
void checkWeights(const Parameters& parameters, const StageComponents<D>& made)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    const TermCombination combination = made.registration->combination(level, made.terms.size());
    const auto weightOf = [&](std::size_t term) {
      return "Metric" + std::to_string(term) + (combination.relative ? "RelativeWeight" : "Weight");
    };
    std::size_t ofImages = 0, withoutWeight = 0, lastWithoutWeight = 0;
    for (std::size_t t = 0; t < made.terms.size(); ++t) {
      if (combination.weights[t] < 0)
        parameters.warn(parameters.where(weightOf(t))
                        + ": a negative weight rewards what the metric punishes.");
      if (!dynamic_cast<const TermOnImages<D>*>(made.terms[t].get()))
        continue;
      ++ofImages;
      if (combination.weights[t] == 0) {
        ++withoutWeight;
        lastWithoutWeight = t;
      }
    }
    if (ofImages > 0 && withoutWeight == ofImages)
      parameters.warn(parameters.where(weightOf(lastWithoutWeight)) + ": level " + std::to_string(level)
                      + ": every metric that compares the images has a weight of 0.");
  }
}

}

template <int D>
StageComponents<D> createComponents(const Registry& registry, const Parameters& parameters)
{
  const auto create = [&]<class Role>(std::type_identity<Role>, const std::vector<std::string>& names,
                                      std::size_t index) {
    const std::string role = Role::roleName;
    return registry.create<Role>(names[index], parameters.withLabel(labelOf(role, index)),
                                 parameters.where(role));
  };
  const auto names = [&](const char* role) { return componentNames(parameters, role); };

  StageComponents<D> made;
  made.registration = create(std::type_identity<Registration>{}, names("Registration"), 0);
  made.transform = create(std::type_identity<Transform<D>>{}, names("Transform"), 0);
  if (!dynamic_cast<const OptimizableTransform<D>*>(made.transform.get()))
    parameters.fail("Transform", "a transform without parameters that an optimizer could find",
                    "Allowed: such a transform in the file of -t0, and here one with parameters, such as "
                    "\"BSplineTransform\"");
  made.optimizer = create(std::type_identity<Optimizer>{}, names("Optimizer"), 0);
  Convergence::check(parameters);

  const std::vector<std::string> metrics = names("Metric"), samplers = names("ImageSampler"),
                                 interpolators = names("Interpolator");
  const bool takesFeatures = made.registration->takesFeatures();
  checkCounts(parameters, metrics.size(), takesFeatures);
  made.registration->checkTermCount(metrics.size());
  made.fixedImages = takesFeatures ? names("FixedImagePyramid").size() : metrics.size();
  made.movingImages = takesFeatures ? names("MovingImagePyramid").size() : metrics.size();
  if (!samplers.empty() && !parameters.has("ImageSampler"))
    parameters.warn(
        parameters.where("Metric") + ": the file names no ImageSampler. \"" + samplers.front()
        + "\" is used, as in elastix 3.8, from which this metric is; elastix 5 refuses such files.");
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    made.terms.push_back(create(std::type_identity<CostTerm<D>>{}, metrics, i));
    made.terms[i]->checkTransform(*made.transform);
    if (made.terms[i]->needsSampler() && samplers.empty())
      parameters.fail("Metric", "\"" + metrics[i] + "\" needs samples, but the file names no ImageSampler",
                      "Allowed: for example (ImageSampler \"RandomCoordinate\")");
    if (takesFeatures && !dynamic_cast<FeatureTerm<D>*>(made.terms[i].get()))
      parameters.fail("Metric",
                      "\"" + metrics[i] + "\" compares one pair of images, and (Registration \""
                          + names("Registration").front() + "\") has several",
                      "Allowed: a metric of several images, or another registration");
  }
  for (std::size_t i = 0; i < made.movingImages; ++i) {
    made.interpolatorOfImage.push_back(interpolators.size() == 1 ? 0 : i);
    made.interpolators.push_back(
        create(std::type_identity<Interpolator<D>>{}, interpolators, made.interpolatorOfImage[i]));
    if (made.terms[takesFeatures ? 0 : i]->needsSampler())
      made.interpolators[i]->requireGradients();
  }
  for (std::size_t i = 0; i < samplers.size(); ++i)
    made.samplers.push_back(create(std::type_identity<ImageSampler<D>>{}, samplers, i));
  if (std::ranges::any_of(made.samplers, [](const auto& sampler) { return sampler->isRandom(); }))
    Convergence::warnOfShortWindows(parameters);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const std::size_t sampler = i < samplers.size() ? i : 0;
    if (made.terms[i]->needsLattice() && !made.samplers[sampler]->givesLattice())
      parameters.fail("ImageSampler",
                      "\"" + samplers[sampler] + "\" for the metric \"" + metrics[i]
                          + "\", which needs the neighbours of each sample",
                      "Allowed: \"Full\" or \"Grid\"");
  }
  for (std::size_t i = 0; i < names("FixedImagePyramid").size(); ++i)
    made.fixedPyramids.push_back(std::move(
        create(std::type_identity<FixedImagePyramid<D>>{}, names("FixedImagePyramid"), i)->pyramid));
  for (std::size_t i = 0; i < names("MovingImagePyramid").size(); ++i)
    made.movingPyramids.push_back(std::move(
        create(std::type_identity<MovingImagePyramid<D>>{}, names("MovingImagePyramid"), i)->pyramid));
  checkWeights<D>(parameters, made);
  return made;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(createComponents<D>);

}
