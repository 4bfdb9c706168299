#include "Core/Compute/DeviceList.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <cctype>

namespace tessera {

std::vector<DeviceChoice> chooseDevices(const std::string& text, const std::string& where)
{
  const std::string prefix = "cuda:";
  if (!text.starts_with(prefix) || text.find(',') == std::string::npos)
    return {chooseDevice(text, where, "")};
  std::vector<int> ordinals;
  for (std::size_t at = prefix.size(); at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string digits = text.substr(at, end - at);
    const bool isNumber =
        !digits.empty() && digits.size() < 4
        && std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
    const int ordinal = isNumber ? std::stoi(digits) : -1;
    const bool isTwice = isNumber && std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end();
    if (!isNumber || isTwice)
      throw Error(ExitCode::usage, where + ": \"" + text + "\": "
                                       + (isTwice ? "a device stands there twice" : "no such devices")
                                       + ". Allowed: different numbers, such as \"cuda:0,1\".");
    ordinals.push_back(ordinal);
    at = end + 1;
  }
  std::vector<DeviceChoice> choices;
  for (const int ordinal : ordinals)
    choices.push_back(chooseDevice(prefix + std::to_string(ordinal), where, ""));
  return choices;
}

}
