#include "Components/Transforms/Shared/LinearTransform.h"

#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/Transform.h"

#include <algorithm>
#include <limits>

// The centre of rotation, the first parameters and their scales: what a linear transform reads from files.
namespace tessera {
namespace {

const Parameter<bool> automaticScalesEstimation =
    booleanParameter("AutomaticScalesEstimation", false, Arity::single,
                     "scale of a parameter = mean squared length of dT/dparameter over the fixed image");

const Parameter<double> scalesParameter =
    realParameter(
        "Scales", std::numeric_limits<double>::quiet_NaN(), Arity::list, "",
        "divisors of the squared parameters: one value for rotations, or a value for each parameter")
        .atLeast(aboveZero);

const Parameter<std::int64_t> centerOfRotation = [] {
  auto row =
      integerParameter("CenterOfRotation", 0, std::numeric_limits<std::int32_t>::min(), Arity::list, "voxels",
                       "centre of rotation as index of the fixed image; overrides CenterOfRotationPoint");
  row.defaultText.clear(); // without it the centre is not voxel 0
  return row;
}();

const Parameter<double> centerOfRotationPoint =
    realParameter("CenterOfRotationPoint", std::numeric_limits<double>::quiet_NaN(), Arity::list, "mm",
                  "centre of rotation; default: by AutomaticTransformInitializationMethod");

/// Reads all D values, or none.
template <int D, class T>
bool readVector(const Parameters& parameters, const Parameter<T>& parameter, Vec<D>& values)
{
  for (int d = 0; d < D; ++d) {
    const std::optional<T> value = parameters.find(parameter, d);
    if (!value)
      return false;
    values[d] = static_cast<double>(*value);
  }
  return true;
}

}

template <int D>
std::vector<double> LinearTransform<D>::defaultScales() const
{
  std::vector<double> scales(parameterCount_, 1.0);
  std::fill_n(scales.begin(), translationIndex(), 100000.0);
  return scales;
}

template <int D>
std::vector<ParameterInfo> LinearTransform<D>::centeredParameters(StartRules rules)
{
  return joinedRows({initializationParameters(rules),
                     {automaticScalesEstimation, scalesParameter, centerOfRotation, centerOfRotationPoint}});
}

/// Uses CenterOfRotation or CenterOfRotationPoint if one of them is given completely.
template <int D>
bool LinearTransform<D>::centerFromSettings(const TransformStart<D>& start)
{
  Vec<D> index;
  std::string name = centerOfRotation.name;
  if (readVector<D>(settings_, centerOfRotation, index)) {
    centerMm_ = start.fixed->geometry.pointFromIndex()(index);
  } else if (readVector<D>(settings_, centerOfRotationPoint, centerMm_)) {
    name = centerOfRotationPoint.name;
    index = start.fixed->geometry.indexFromPoint()(centerMm_);
  } else {
    for (const std::string& given : {centerOfRotation.name, centerOfRotationPoint.name})
      if (settings_.has(given))
        settings_.warn(settings_.where(given) + ": fewer than " + std::to_string(D)
                       + " values; it is not used, as in elastix.");
    return false;
  }
  for (int d = 0; d < D; ++d)
    if (index[d] < -0.5 || index[d] > static_cast<double>(start.fixed->geometry.size[d]) - 0.5) {
      settings_.warn(settings_.where(name) + ": the centre of rotation is outside the fixed image.");
      break;
    }
  return true;
}

template <int D>
std::vector<double> LinearTransform<D>::initialize(Context& context, const TransformStart<D>& start)
{
  if (onlyCountsMemory(context))
    return rotationParameters(identityMatrix<D>());
  const bool automatic = wantsAutomaticStart(settings_) && !start.initial;
  const bool centerGiven = hasCenter() && centerFromSettings(start);
  std::vector<double> parameters = rotationParameters(identityMatrix<D>());
  if (automatic || (hasCenter() && !centerGiven)) {
    const StartParts parts = automatic ? partsOfStart() : StartParts::center;
    const LinearStart<D> found = automaticStart<D>(context, settings_, startRules_, parts, start);
    if (hasCenter() && !centerGiven)
      centerMm_ = found.centerMm;
    if (automatic) {
      parameters = rotationParameters(found.rotation);
      // The translation of another centre c': R (c' - c) + t + c - c'.
      Vec<D> apart{};
      for (int d = 0; d < D && hasCenter(); ++d)
        apart[d] = centerMm_[d] - found.centerMm[d];
      const Vec<D> turned = apply<D>(found.rotation, apart);
      for (int d = 0; d < D; ++d)
        parameters[translationIndex() + d] = found.translationMm[d] + (turned[d] - apart[d]);
    }
  }
  if (hasCenter() && start.initial && settings_.get(stageparameters::howToCombineTransforms()) == "Compose")
    centerMm_ = mappedPoint<D>(*start.initial, centerMm_, context);
  return parameters;
}

/// The default scales, replaced by those of (Scales ...).
template <int D>
std::vector<double> LinearTransform<D>::givenScales() const
{
  std::vector<double> scales = defaultScales();
  const std::vector<double> given =
      scaleRule_ == ScaleRule::none ? std::vector<double>{} : settings_.all(scalesParameter);
  if (given.empty())
    return scales;
  const std::string count = std::to_string(given.size()), all = std::to_string(parameterCount_);
  if (given.size() == parameterCount_)
    return given;
  const bool isOneForRotations = scaleRule_ != ScaleRule::entryByEntry;
  if (isOneForRotations && given.size() == 1) {
    for (double& scale : scales)
      scale = scale == 1 ? 1 : given[0];
    return scales;
  }
  if (isOneForRotations || given.size() > parameterCount_)
    settings_.fail(scalesParameter.name, count + " values",
                   "Allowed: " + all + (isOneForRotations ? " values, or one for all rotations" : " values"));
  settings_.warn(settings_.where(scalesParameter.name) + ": " + count + " of " + all
                 + " values; the others keep their defaults.");
  std::copy(given.begin(), given.end(), scales.begin());
  return scales;
}

template <int D>
std::vector<double> LinearTransform<D>::scales(Context& context, const ListSamples<D>& samples,
                                               std::span<const double> parameters) const
{
  const bool estimates = scaleRule_ == ScaleRule::estimatedUnlessGiven
                             ? !settings_.has(scalesParameter.name)
                             : scaleRule_ != ScaleRule::none && settings_.get(automaticScalesEstimation);
  if (!estimates)
    return givenScales();
  const std::vector<double> products = gramian(context, samples, derivatives(parameters));
  std::vector<double> scales(parameterCount_);
  for (std::size_t k = 0; k < parameterCount_; ++k)
    scales[k] = products[k * parameterCount_ + k];
  // A parameter that moves no sample (as in an image of one slice) has no gradient either, so any scale
  // leaves it where it is.
  const double negligible = 1e-18 * *std::max_element(scales.begin(), scales.end());
  for (double& scale : scales)
    scale = scale > negligible ? scale : 1;
  return scales;
}

template <int D>
std::vector<FileEntry> LinearTransform<D>::fileEntries() const
{
  if (!hasCenter())
    return {};
  return {{centerOfRotationPoint.name, {}, centerAsVector()}};
}

template <int D>
std::vector<double> LinearTransform<D>::restore(const Context&, const Parameters& transformFile)
{
  if (hasCenter() && !readVector<D>(transformFile, centerOfRotationPoint, centerMm_))
    failAs(ExitCode::unreadableInput, transformFile.where(centerOfRotationPoint.name),
           "missing or incomplete",
           "the " + std::to_string(D) + " coordinates of the centre of rotation in mm");
  return readTransformParameters(transformFile, parameterCount_,
                                 this->name() + " in " + std::to_string(D) + "D");
}

TESSERA_INSTANTIATE_CLASS(LinearTransform);

}
