#include "Testing/Tools/JsonValue.h"

#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

namespace tessera::testing {

int printJsonValue(const std::string& file, const std::string& pointer)
{
  try {
    std::ifstream stream(file);
    const nlohmann::json value = nlohmann::json::parse(stream).at(nlohmann::json::json_pointer(pointer));
    const std::string text = value.is_string()       ? value.get<std::string>()
                             : value.is_structured() ? std::to_string(value.size())
                                                     : value.dump();
    std::printf("%s\n", text.c_str());
    return 0;
  } catch (const nlohmann::json::exception& error) {
    std::printf("%s: %s: %s\n", file.c_str(), pointer.c_str(), error.what());
    return 1;
  }
}

}
