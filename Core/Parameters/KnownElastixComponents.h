#pragma once

#include <string_view>

namespace tessera {

/// Whether elastix (any version since 4.0) has or had a component of this role and name.
bool isElastixComponent(std::string_view role, std::string_view name);

/// Why a name that Tessera accepts is an old one, as a clause for a note; empty for all others.
std::string_view replacedComponentNote(std::string_view role, std::string_view name);

}
