#pragma once

#include <string>

namespace tessera::testing {

/// Prints what a JSON file holds at a pointer such as /stages/0/levels: texts as they are, the length of
/// lists and objects, anything else as JSON. 0, or 1 if the file is no JSON or holds nothing there.
int printJsonValue(const std::string& file, const std::string& pointer);

}
