#include "Components/Transforms/Shared/LandmarkSplines/SplineSettings.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/NumberIn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

const std::vector<std::string> kernelNames{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline",
                                           "ElasticBodySpline",
                                           "ElasticBodyReciprocalSpline"}; // in the order of SplineKernel

const Parameter<std::string> splineKernelType = textParameter(
    "SplineKernelType", "ThinPlateSpline", Arity::single,
    "radial function of the landmarks; transformix 5.0.1 cannot evaluate ThinPlateR2LogRSpline in 3D",
    kernelNames);
const Parameter<double> splinePoissonRatio =
    realParameter("SplinePoissonRatio", 0.3, Arity::single, "", "Poisson's ratio of the elastic kernels");
const Parameter<double> splineRelaxationFactor =
    realParameter("SplineRelaxationFactor", 0, Arity::single, "",
                  "elastix's relaxation: 0 or less interpolates the landmarks; for the kernels r and "
                  "ElasticBodyReciprocal in 3D it amplifies their errors (decision 0007)");
const Parameter<std::string> splineSmoothing = textParameter(
    "SplineSmoothing", "", Arity::single,
    "0 or more, or \"auto\": how much roughness of the spline counts against squared distances of landmarks, "
    "in the unit of the kernel (mm for r); \"auto\" chooses by generalised cross-validation");
const Parameter<double> fixedImageLandmarks =
    realParameter("FixedImageLandmarks", std::numeric_limits<double>::quiet_NaN(), Arity::list, "mm",
                  "fixed landmarks, point by point");

/// The numbers, counted from 1, of two landmarks at one place; empty: all are different.
template <int D>
std::string equalLandmarks(const std::vector<Vec<D>>& landmarksMm)
{
  std::vector<std::size_t> order(landmarksMm.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return landmarksMm[i]; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (landmarksMm[order[i - 1]] == landmarksMm[order[i]])
      return std::to_string(order[i - 1] + 1) + " and " + std::to_string(order[i] + 1);
  return "";
}

}

std::vector<ParameterInfo> splineParameters()
{
  return {splineKernelType, splinePoissonRatio, splineRelaxationFactor, splineSmoothing};
}

template <int D>
SplineModel<D> splineModelOf(const Parameters& parameters)
{
  SplineModel<D> model;
  const std::string type = parameters.get(splineKernelType);
  model.kernel = static_cast<SplineKernel>(std::find(kernelNames.begin(), kernelNames.end(), type)
                                           - kernelNames.begin());
  if (D == 2 && model.kernel != SplineKernel::thinPlate && model.kernel != SplineKernel::thinPlateR2LogR)
    parameters.warn(parameters.where(splineKernelType.name)
                    + ": in 2D every spline is ThinPlateR2LogRSpline, as in elastix.");
  if (D == 3 && model.kernel == SplineKernel::thinPlateR2LogR)
    parameters.warn(parameters.where(splineKernelType.name)
                    + ": transformix 5.0.1 cannot evaluate this kernel in 3D; tessera-transform can.");
  model.poissonRatio = parameters.get(splinePoissonRatio);
  if (!(model.poissonRatio > -1 && model.poissonRatio < 0.5))
    parameters.fail(splinePoissonRatio.name, "no elastic body has it", "Allowed: above -1 and below 0.5");
  model.relaxation = std::max(parameters.get(splineRelaxationFactor), 0.0); // elastix takes 0 for less
  if (!model.relaxationSmooths())
    parameters.warn(parameters.where(splineRelaxationFactor.name)
                    + ": with this kernel in 3D elastix's relaxation makes the spline worse: it amplifies "
                      "errors of landmarks. (SplineSmoothing \"auto\") smooths.");
  return model;
}

Smoothing smoothingOf(const Parameters& parameters)
{
  const char* allowed = "Allowed: \"auto\", or a number of at least 0";
  const ParameterEntry* entry = parameters.map().find(splineSmoothing.name);
  if (entry && entry->values.empty()) // for others an empty text is none; here it would mean no smoothing
    throw Error(ExitCode::usage,
                parameters.map().where(*entry) + ": (SplineSmoothing \"\"): no smoothing. " + allowed + ".");
  if (entry && entry->values.size() > 1)
    parameters.fail(splineSmoothing.name, "more than one value", allowed);
  const std::string text = parameters.get(splineSmoothing);
  if (text.empty())
    return {};
  if (parameters.get(splineRelaxationFactor) != 0)
    parameters.fail(splineSmoothing.name, "SplineRelaxationFactor is given, too", "Allowed: one of the two");
  if (text == "auto")
    return {true, {}};
  const auto value = numberIn<double>(text);
  if (!value || !(*value >= 0) || !std::isfinite(*value))
    parameters.fail(splineSmoothing.name, "not a smoothing", allowed);
  return {true, *value};
}

template <int D>
std::vector<Vec<D>> fixedLandmarksOf(const Parameters& file)
{
  const std::vector<double> values = file.all(fixedImageLandmarks);
  if (values.empty() || values.size() % D != 0)
    file.fail(fixedImageLandmarks.name, std::to_string(values.size()) + " values",
              "Allowed: " + std::to_string(D) + " values a point");
  std::vector<Vec<D>> landmarksMm(values.size() / D);
  for (std::size_t i = 0; i < values.size(); ++i)
    landmarksMm[i / D][i % D] = values[i];
  return landmarksMm;
}

template <int D>
std::vector<FileEntry> splineEntries(const SplineModel<D>& model, const std::optional<double>& smoothing)
{
  std::vector<FileEntry> entries{
      {splineKernelType.name, {kernelNames[static_cast<std::size_t>(model.kernel)]}, {}},
      {splinePoissonRatio.name, {}, {model.poissonRatio}},
      {splineRelaxationFactor.name, {}, {model.relaxation}}};
  if (smoothing)
    entries.push_back({splineSmoothing.name, {}, {*smoothing}});
  entries.push_back({fixedImageLandmarks.name, {}, coordinates<D>(model.landmarksMm)});
  return entries;
}

template <int D>
std::string whyNoSpline(const std::vector<Vec<D>>& landmarksMm)
{
  if (landmarksMm.size() <= D)
    return "determine no spline: " + std::to_string(landmarksMm.size()) + " are too few";
  const std::string equal = equalLandmarks<D>(landmarksMm);
  return equal.empty() ? "" : "determine no spline: numbers " + equal + ", counted from 1, are equal";
}

template <int D>
std::string landmarksNeeded()
{
  return "Allowed: at least " + std::to_string(D + 1) + " different points that are not all on one "
         + (D == 2 ? "line" : "plane");
}

template <int D>
std::vector<double> coordinates(const std::vector<Vec<D>>& pointsMm)
{
  std::vector<double> values;
  for (const Vec<D>& pointMm : pointsMm)
    values.insert(values.end(), pointMm.begin(), pointMm.end());
  return values;
}

TESSERA_INSTANTIATE_FUNCTIONS(splineModelOf<D>, fixedLandmarksOf<D>, splineEntries<D>, whyNoSpline<D>,
                              landmarksNeeded<D>, coordinates<D>);

}
