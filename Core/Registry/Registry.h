#pragma once

#include "Core/Parameters/Parameters.h"

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

namespace tessera {

/// Finds factories and descriptions by role and name. Roles are abstract classes with `static constexpr const
/// char* roleName`. Names and aliases are exact and case sensitive, as in elastix.
class Registry {
public:
  template <class Role>
  using Factory = std::function<std::unique_ptr<Role>(const Parameters&)>;

  /// Adds one role's factory for a component; call once for each dimension of the role.
  /// Throws std::logic_error if the description names another role, or the role has a component of this name
  /// or alias already.
  template <class Role>
  void add(const ComponentDescription& description, Factory<Role> factory)
  {
    addErased(std::type_index(typeid(Role)), Role::roleName, description, std::any(std::move(factory)));
  }

  /// Component is constructed from (const Parameters&) and has `static const ComponentDescription&
  /// description()`.
  template <class Role, class Component>
  void add()
  {
    add<Role>(Component::description(),
              [](const Parameters& parameters) { return std::make_unique<Component>(parameters); });
  }

  /// Throws Error(usage) `where: (Metric "X"): no such metric. Allowed: ...` with the nearest name.
  template <class Role>
  std::unique_ptr<Role> create(const std::string& name, const Parameters& parameters,
                               const std::string& where) const
  {
    return std::any_cast<const Factory<Role>&>(
        factory(std::type_index(typeid(Role)), Role::roleName, name, where))(parameters);
  }

  /// ` Did you mean "NAME"?` for an abbreviation that stands in a component's summary as a
  /// word, or empty. An empty role stands for all.
  std::string meantByAbbreviation(const std::string& role, const std::string& name) const;
  /// Null if the role has no component of this name or alias.
  const ComponentDescription* find(const std::string& role, const std::string& name) const;

  /// The same, or Error(usage) as create throws it.
  const ComponentDescription& require(const std::string& role, const std::string& name,
                                      const std::string& where) const;

  /// Every description, by role and then name.
  std::vector<const ComponentDescription*> all() const;

private:
  void addErased(std::type_index role, const std::string& roleName, const ComponentDescription& description,
                 std::any factory);
  const std::any& factory(std::type_index role, const std::string& roleName, const std::string& name,
                          const std::string& where) const;

  std::map<std::pair<std::string, std::string>, ComponentDescription> descriptions_; // (role, name)
  std::map<std::pair<std::type_index, std::string>, std::any> factories_;            // (role, name)
};

}
