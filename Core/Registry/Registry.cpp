#include "Core/Registry/Registry.h"

#include "Core/Compute/Error.h"
#include "Core/Parameters/KnownElastixComponents.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace tessera {
namespace {

bool isCalled(const ComponentDescription& description, const std::string& name)
{
  return description.name == name
         || std::ranges::find(description.aliases, name) != description.aliases.end();
}

/// "FixedImagePyramid" -> "fixed image pyramid".
std::string words(const std::string& role)
{
  std::string text;
  for (const char c : role) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !text.empty())
      text += ' ';
    text += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

std::string aOrAn(const std::string& role)
{
  return role.find_first_of("AEIO") == 0 ? "an " : "a ";
}

/// `where` is a line of a parameter file, which shows the name already if it is the only one, or anything
/// else.
std::string subject(const std::string& where, const std::string& role, const std::string& name)
{
  const std::string given = "(" + role + " \"" + name + "\")";
  if (where.ends_with(given))
    return where;
  const bool showsRole = where.find("(" + role + " ") != std::string::npos;
  return where + ": " + (showsRole ? "\"" + name + "\"" : given);
}

/// The name that parameter files of elastix use: for some roles an alias.
const std::string& nameInFiles(const ComponentDescription& description)
{
  for (const std::string& alias : description.aliases)
    if (!isElastixComponent(description.role, description.name)
        && isElastixComponent(description.role, alias))
      return alias;
  return description.name;
}

}

const ComponentDescription* Registry::find(const std::string& role, const std::string& name) const
{
  for (const auto& [key, description] : descriptions_)
    if (key.first == role && isCalled(description, name))
      return &description;
  return nullptr;
}

std::string Registry::meantByAbbreviation(const std::string& role, const std::string& name) const
{
  const auto isLetter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (name.size() < 2 || !std::ranges::all_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }))
    return "";
  for (const auto& [key, description] : descriptions_) {
    const std::string text = role.empty() || key.first == role ? " " + description.summary + " " : "";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      if (!isLetter(text[at - 1]) && !isLetter(text[at + name.size()]))
        return " Did you mean \"" + description.name + "\"?";
  }
  return "";
}

const ComponentDescription& Registry::require(const std::string& role, const std::string& name,
                                              const std::string& where) const
{
  if (const ComponentDescription* found = find(role, name))
    return *found;

  std::vector<std::string> candidates;
  std::string known;
  for (const auto& [key, description] : descriptions_) {
    if (key.first != role)
      continue;
    known += (known.empty() ? "" : ", ") + nameInFiles(description);
    candidates.push_back(nameInFiles(description));
    candidates.insert(candidates.end(), description.aliases.begin(), description.aliases.end());
  }
  const std::string abbreviation = meantByAbbreviation(role, name);
  const std::string wrong = isElastixComponent(role, name)
                                ? aOrAn(role) + words(role) + " of elastix that Tessera does not have."
                                : "no such " + words(role) + "."
                                      + (abbreviation.empty() ? didYouMean(name, candidates) : abbreviation);
  throw Error(ExitCode::usage, subject(where, role, name) + ": " + wrong
                                   + " Allowed: " + (known.empty() ? "none" : known) + ".");
}

std::vector<const ComponentDescription*> Registry::all() const
{
  std::vector<const ComponentDescription*> found;
  for (const auto& [key, description] : descriptions_)
    found.push_back(&description);
  return found;
}

void Registry::addErased(std::type_index role, const std::string& roleName,
                         const ComponentDescription& description, std::any factory)
{
  if (description.role != roleName)
    throw std::logic_error(description.name + " describes itself as " + description.role + ", not as "
                           + roleName);
  std::vector<std::string> names = description.aliases;
  names.push_back(description.name);
  for (const std::string& name : names) {
    const ComponentDescription* other = find(description.role, name);
    if (other && other->name != description.name)
      throw std::logic_error("two components of role " + description.role + " are called " + name);
  }
  if (!factories_.try_emplace({role, description.name}, std::move(factory)).second)
    throw std::logic_error(description.role + " " + description.name + " is registered twice");
  descriptions_.try_emplace({description.role, description.name}, description);
}

const std::any& Registry::factory(std::type_index role, const std::string& roleName, const std::string& name,
                                  const std::string& where) const
{
  const ComponentDescription& description = require(roleName, name, where);
  const auto found = factories_.find({role, description.name});
  if (found != factories_.end())
    return found->second;
  std::string others;
  for (const auto& [key, made] : factories_)
    if (key.first == role)
      others += (others.empty() ? "" : ", ") + nameInFiles(descriptions_.at({roleName, key.second}));
  failAs(ExitCode::usage, subject(where, roleName, name),
         "this " + words(roleName) + " does not exist for images of this dimension",
         (others.empty() ? "none" : others));
}

}
