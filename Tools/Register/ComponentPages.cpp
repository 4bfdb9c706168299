#include "Tools/Register/ComponentPages.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/StageComponents.h"
#include "Tools/Register/StageSettings.h"

#include <algorithm>
#include <cstdio>

namespace tessera {
namespace {

std::vector<const ComponentDescription*> everyDescription(const Registry& registry)
{
  std::vector<const ComponentDescription*> descriptions = registry.all();
  descriptions.push_back(&stageDescription());
  descriptions.push_back(&StageSettings::description());
  return descriptions;
}

const char* typeName(ParameterType type)
{
  switch (type) {
  case ParameterType::integer:
    return "integer";
  case ParameterType::real:
    return "real";
  case ParameterType::boolean:
    return "true or false";
  case ParameterType::text:
    break;
  }
  return "text";
}

const char* arityText(Arity arity)
{
  switch (arity) {
  case Arity::single:
    return "";
  case Arity::perLevel:
    return ", one a level";
  case Arity::perDimension:
    return ", one an axis";
  case Arity::perLevelAndDimension:
    return ", one a level and axis";
  case Arity::schedule:
    return ", for all levels";
  case Arity::list:
    break;
  }
  return ", any number";
}

std::string joined(const std::vector<std::string>& words)
{
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string number(double value)
{
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string rangeText(const ParameterInfo& parameter)
{
  const bool low = parameter.minimum > -std::numeric_limits<double>::infinity();
  const bool high = parameter.maximum < std::numeric_limits<double>::infinity();
  if (low && high)
    return ", " + number(parameter.minimum) + " to " + number(parameter.maximum);
  return low ? ", at least " + number(parameter.minimum) : high ? ", at most " + number(parameter.maximum) : "";
}

std::string page(const ComponentDescription& component)
{
  std::string text = "(" + component.role + " \"" + component.name + "\")\n  " + component.summary + "\n";
  if (!component.aliases.empty())
    text += "  also: " + joined(component.aliases) + "\n";
  for (const ParameterInfo& parameter : component.parameters) {
    const bool quoted = parameter.type == ParameterType::text || parameter.type == ParameterType::boolean;
    const std::string quote = quoted ? "\"" : "";
    text += "\n  (" + parameter.name + (parameter.defaultText.empty() ? " ...)" : " " + quote + parameter.defaultText + quote + ")")
            + "\n      " + parameter.meaning + "\n      " + typeName(parameter.type) + arityText(parameter.arity)
            + (parameter.unit.empty() ? "" : ", " + parameter.unit) + rangeText(parameter)
            + (parameter.choices.empty() ? "" : ": " + joined(parameter.choices)) + "\n";
  }
  return text;
}

bool isNamed(const ComponentDescription& component, const std::string& name)
{
  return component.name == name || std::count(component.aliases.begin(), component.aliases.end(), name) > 0;
}

}

std::string componentList(const Registry& registry)
{
  std::string text, role;
  for (const ComponentDescription* component : registry.all()) {
    if (component->role != role)
      text += (role.empty() ? "" : "\n") + component->role + "\n";
    role = component->role;
    text += "  " + component->name + (component->aliases.empty() ? "" : " (" + joined(component->aliases) + ")") + "\n      "
            + component->summary + "\n";
  }
  return text;
}

std::string componentPage(const Registry& registry, const std::string& name)
{
  std::string text;
  std::vector<std::string> names;
  for (const ComponentDescription* component : everyDescription(registry)) {
    names.push_back(component->name);
    names.insert(names.end(), component->aliases.begin(), component->aliases.end());
    if (isNamed(*component, name))
      text += (text.empty() ? "" : "\n") + page(*component);
  }
  if (!text.empty())
    return text;
  const std::string nearest = nearestName(name, names);
  throw Error(ExitCode::usage, "--describe: \"" + name + "\": no such component. "
                                 + (nearest.empty() ? "" : "Did you mean \"" + nearest + "\"? ") + "--list-components prints all.");
}

}
