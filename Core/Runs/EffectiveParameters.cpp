#include "Core/Runs/EffectiveParameters.h"

#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/StageSettings.h"

#include <map>

namespace tessera {

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
