#include "Core/Runs/EffectiveParameters.h"

#include "Core/Image/Files/ImageFormat.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/StageSettings.h"

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
