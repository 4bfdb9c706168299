#include "Core/Runs/EffectiveParameters.h"

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/StageSettings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tessera {

std::shared_ptr<const ParameterMap> withResultType(const std::shared_ptr<const ParameterMap>& text,
                                                   PixelType type)
{
  type = type == PixelType::float64 ? PixelType::float32 : type;
  const ParameterEntry* const format = text->find("ResultImageFormat");
  if (text->find("ResultImagePixelType") || !formatHolds(format ? format->values.front() : "mhd", type))
    return text;
  auto typed = std::make_shared<ParameterMap>(*text);
  typed->add({"ResultImagePixelType", {pixelTypeName(type)}, 0});
  return typed;
}

std::shared_ptr<const ParameterMap> withDefaultPixelValue(const std::shared_ptr<const ParameterMap>& text,
                                                          int value)
{
  auto filled = std::make_shared<ParameterMap>(text->fileName());
  for (const ParameterEntry& entry : text->entries())
    if (entry.name != "DefaultPixelValue")
      filled->add(entry);
  filled->add({"DefaultPixelValue", {std::to_string(value)}, 0});
  return filled;
}

std::shared_ptr<const ParameterMap> withScheduleForSize(const std::shared_ptr<const ParameterMap>& text,
                                                        std::size_t longestAxis)
{
  const Parameters parameters(text, "", 2, 1);
  const std::int64_t size = StageSettings(parameters).scheduleForImageSize;
  if (size == 0)
    return text;
  const ParameterEntry* const schedule = text->find("ImagePyramidSchedule");
  if (!schedule)
    parameters.fail("ScheduleForImageSize", "no ImagePyramidSchedule is given, which it changes",
                    "Allowed: both or none");
  double least = std::numeric_limits<double>::infinity(); // of the factors, which becomes no less than 1
  for (const std::string& factor : schedule->values)
    least = std::min(least, std::max(1.0, parseReal(factor).value_or(1)));
  const double ratio = static_cast<double>(longestAxis) / static_cast<double>(size);
  const double factor = std::max(std::exp2(std::round(std::log2(ratio))), 1 / least);
  auto scaled = std::make_shared<ParameterMap>(text->fileName());
  for (ParameterEntry entry : text->entries()) {
    if (entry.name == schedule->name || entry.name == "FinalGridSpacingInVoxels")
      for (std::string& value : entry.values)
        if (const std::optional<double> number = parseReal(value)) // the component tells of other values
          value = significant(*number * factor, 6);
    scaled->add(entry);
  }
  return scaled;
}

std::vector<EffectiveParameter> effectiveParameters(const Registry& registry,
                                                    const std::shared_ptr<const ParameterMap>& text)
{
  std::vector<ChosenComponent> chosen = chosenComponents(registry, text);
  chosen.push_back({"", &StageSettings::description()});
  std::map<std::string, EffectiveParameter> found; // by name
  for (const ChosenComponent& component : chosen)
    for (const ParameterInfo& info : component.description->parameters) {
      const ParameterEntry* entry = text->find(component.label + info.name);
      if (!entry)
        entry = text->find(info.name);
      if (entry)
        found[entry->name] = {entry->name, entry->values, true};
      else if (!info.defaultText.empty())
        found[info.name] = {info.name, {info.defaultText}, false};
    }
  for (const ParameterEntry& entry : text->entries()) // the choice of components
    if (registry.find(entry.name, entry.values.empty() ? "" : entry.values.front()))
      found[entry.name] = {entry.name, entry.values, true};
  std::vector<EffectiveParameter> parameters;
  for (auto& [name, parameter] : found)
    parameters.push_back(std::move(parameter));
  return parameters;
}

}
