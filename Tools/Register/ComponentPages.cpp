#include "Tools/Register/ComponentPages.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registry/Describe.h"
#include "Core/Runs/StageSettings.h"

#include <algorithm>

namespace tessera {
namespace {

std::vector<const ComponentDescription*> everyDescription(const Registry& registry)
{
  std::vector<const ComponentDescription*> descriptions = registry.all();
  descriptions.push_back(&stageDescription());
  descriptions.push_back(&StageSettings::description());
  return descriptions;
}

/// Names of the descriptions whose table has this parameter.
std::vector<std::string> readersOf(const Registry& registry, const std::string& parameter)
{
  std::vector<std::string> readers;
  for (const ComponentDescription* component : everyDescription(registry))
    for (const ParameterInfo& row : component->parameters)
      if (row.name == parameter && std::count(readers.begin(), readers.end(), component->name) == 0)
        readers.push_back(component->name);
  return readers;
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
    text += "  " + component->name
            + (component->aliases.empty() ? "" : " (" + joined(component->aliases) + ")") + "\n      "
            + component->summary + "\n";
  }
  for (const ComponentDescription* description : {&stageDescription(), &StageSettings::description()})
    text += (description == &stageDescription() ? "\n--describe " : "--describe ") + description->name + ": "
            + description->summary + "\n";
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
      text += (text.empty() ? "" : "\n") + describeComponent(*component);
  }
  if (!text.empty())
    return text;
  if (const std::vector<std::string> readers = readersOf(registry, name); !readers.empty())
    failAs(ExitCode::usage, "--describe", "\"" + name + "\": a parameter, not a component",
           "a component that reads it: " + joined(readers));
  const std::string abbreviation = registry.meantByAbbreviation("", name);
  throw Error(ExitCode::usage, "--describe: \"" + name + "\": no such component."
                                   + (abbreviation.empty() ? didYouMean(name, names) : abbreviation)
                                   + " --list-components prints all.");
}

std::map<std::string, std::string> referencePages(const Registry& registry)
{
  const std::string origin =
      "Written by `Tools/Developer/write-reference` from the parameter tables of the program.\n";
  std::map<std::string, std::string> pages, names;
  for (const ComponentDescription* component : everyDescription(registry)) {
    const std::string& title = component->role.empty() ? component->name : component->role;
    std::string& page = pages[title + ".md"];
    page += (page.empty() ? "# " + title + "\n\n" + origin : std::string()) + "\n"
            + describeAsMarkdown(*component);
    std::string& list = names[title];
    list += (list.empty() ? "" : ", ") + (component->role.empty() ? component->summary : component->name);
  }
  std::string index =
      "# Components that a parameter file can name\n\n" + origin + "\n| role | components |\n| --- | --- |\n";
  for (const auto& [role, list] : names)
    index += "| [" + role + "](" + role + ".md) | " + list + " |\n";
  index += "\nA default of - means that there is none: the parameter must be given, or its meaning says\n"
           "what is taken without it. \"per level\" means one value for all levels, or one for each from\n"
           "coarse to fine; levels without a value take the first. \"per axis\" is the same for axes.\n";
  pages["README.md"] = index;
  return pages;
}

}
