#pragma once

#include "Components/Transforms/Shared/StackTransform.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/Transform.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// A stack of linear transforms, all about one centre: that of the fixed image or the one that is given or,
/// composed with an initial transform, the mean over time of where that maps it. They start from the
/// identity. Scales are estimated at the last time, for all.
template <int D, template <int> class Sub>
class LinearStackTransform : public StackTransform<D, Sub> {
public:
  std::vector<double> initialize(Context& context, const TransformStart<D>& start) override
  {
    this->sub_ = Sub<D - 1>(settings_);
    std::vector<double> parameters = StackTransform<D, Sub>::initialize(context, start);
    const bool turns = this->sub_.parameterCount() > D - 1;
    if (!turns || !start.initial || settings_.get(stageparameters::howToCombineTransforms()) != "Compose")
      return parameters;
    this->sub_ = Sub<D - 1>(withEntry(settings_, "CenterOfRotationPoint", textsOf(meanOfCenter(start))));
    return StackTransform<D, Sub>::initialize(context, start);
  }

protected:
  explicit LinearStackTransform(const Parameters& parameters)
      : LinearStackTransform(ofSlices(parameters), std::true_type{})
  {
  }

  static std::vector<ParameterInfo> rowsOfSlices()
  {
    std::vector<ParameterInfo> rows = Sub<D - 1>::description().parameters;
    std::erase_if(rows, [](const ParameterInfo& row) { return isOfStart(row.name); });
    for (ParameterInfo& row : rows)
      if (row.name == "CenterOfRotationPoint")
        row.meaning = "centre of rotation; default: the centre of the fixed image";
      else if (row.name == "AutomaticScalesEstimation")
        row.meaning = "scale of a parameter = mean squared length of dT/dparameter at the last time";
    if (!rows.empty())
      rows.push_back(oldScales());
    return rows;
  }

private:
  LinearStackTransform(const Parameters& settings, std::true_type)
      : StackTransform<D, Sub>(settings), settings_(settings)
  {
  }

  static ParameterInfo oldScales()
  {
    return booleanParameter("AutomaticScalesEstimationStackTransform", false, Arity::single,
                            "older name of AutomaticScalesEstimation");
  }
  /// Stacks are never initialized automatically.
  static bool isOfStart(const std::string& name)
  {
    return name.starts_with("AutomaticTransformInitialization");
  }

  /// The text as a transform of slices reads it.
  static Parameters ofSlices(const Parameters& parameters)
  {
    const std::string automatic = "AutomaticScalesEstimation";
    const bool isOld = !parameters.has(automatic);
    const bool estimates =
        parameters.get(booleanParameter(isOld ? oldScales().name : automatic, false, Arity::single, ""));
    ParameterMap map(parameters.map().fileName());
    for (ParameterEntry entry : parameters.map().entries()) {
      if (isOfStart(entry.name) || (entry.name == "Scales" && estimates))
        continue;
      if (entry.name == oldScales().name && isOld)
        entry.name = automatic;
      map.add(entry);
    }
    if (!estimates
        && !parameters.has("Scales")) // that of single transforms is ten times as large, as in elastix
      map.add({"Scales", {"10000"}, 0});
    return Parameters(std::make_shared<const ParameterMap>(std::move(map)), parameters.label(),
                      parameters.dimension(), parameters.levelCount(),
                      [parameters](const std::string& line) { parameters.warn(line); });
  }

  /// The parameters with these values in place of an entry.
  static Parameters withEntry(const Parameters& parameters, const std::string& name,
                              std::vector<std::string> values)
  {
    ParameterMap map(parameters.map().fileName());
    for (const ParameterEntry& entry : parameters.map().entries())
      if (entry.name != name && entry.name != "CenterOfRotation"
          && entry.name != "UseBinaryFormatForTransformationParameters")
        map.add(entry);
    map.add({name, std::move(values), 0});
    return Parameters(std::make_shared<const ParameterMap>(std::move(map)), parameters.label(),
                      parameters.dimension(), parameters.levelCount());
  }

  static std::vector<std::string> textsOf(const Vec<D - 1>& numbers)
  {
    std::vector<std::string> texts;
    for (const double number : numbers)
      texts.push_back(realText(number));
    return texts;
  }

  Vec<D - 1> meanOfCenter(const TransformStart<D>& start) const
  {
    const ImageGeometry<D>& series = start.fixed->geometry;
    const std::size_t times = series.size[D - 1];
    Vec<D - 1> mean{};
    for (std::size_t t = 0; t < times; ++t) {
      Vec<D> centerMm;
      for (int d = 0; d + 1 < D; ++d)
        centerMm[d] = this->sub_.centerMm()[d];
      centerMm[D - 1] = series.originMm[D - 1] + series.spacingMm[D - 1] * static_cast<double>(t);
      centerMm = mappedPoint<D>(*start.initial, centerMm);
      for (int d = 0; d + 1 < D; ++d)
        mean[d] += centerMm[d] / static_cast<double>(times);
    }
    return mean;
  }

  std::vector<FileEntry> modelEntries() const override { return this->sub_.fileEntries(); }
  void restoreModel(const Parameters& transformFile) override
  {
    this->sub_.restore({}, withEntry(transformFile, "TransformParameters",
                                     std::vector<std::string>(this->sub_.parameterCount(), "0")));
  }

  Parameters settings_;
};

}
