#include "Core/Compute/Device.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"

#include <algorithm>
#include <cctype>

namespace tessera {
namespace {

/// The ordinal in "cuda" or "cuda:N"; -1 for any other text.
int ordinalIn(const std::string& text)
{
  const std::string prefix = "cuda:";
  if (text == "cuda")
    return 0;
  const std::string digits = text.starts_with(prefix) ? text.substr(prefix.size()) : "";
  const bool isNumber =
      !digits.empty() && digits.size() < 4
      && std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
  return isNumber ? std::stoi(digits) : -1;
}

}

DeviceChoice chooseDevice(const std::string& text, const std::string& where, const std::string& withoutCuda)
{
  if (text == "cpu")
    return {{DeviceKind::cpu, 0}, "cpu, as asked"};
  const int ordinal = text == "auto" ? 0 : ordinalIn(text);
  if (ordinal < 0)
    failAs(ExitCode::usage, where, "\"" + text + "\": no such device",
           "\"auto\", \"cpu\", \"cuda\" or \"cuda:N\"");

  if (text == "auto" && !withoutCuda.empty()) // before the driver is started, which takes time
    return {{DeviceKind::cpu, 0}, "cpu: " + withoutCuda};
  const CudaDevices cuda = findCudaDevices();
  const std::string whyNot = cuda.found.empty() ? cuda.whyNone : withoutCuda;
  if (text == "auto" && !whyNot.empty())
    return {{DeviceKind::cpu, 0}, "cpu: " + whyNot};
  if (!whyNot.empty())
    failAs(ExitCode::device, where, "\"" + text + "\": " + whyNot, "\"cpu\" or \"auto\"");
  if (const std::size_t count = cuda.found.size(); static_cast<std::size_t>(ordinal) >= count)
    failAs(ExitCode::device, where,
           "\"" + text + "\": only " + std::to_string(count) + " CUDA device" + (count > 1 ? "s are" : " is")
               + " visible",
           "\"cuda:0\"" + (count > 1 ? " to \"cuda:" + std::to_string(count - 1) + "\"" : ""));
  return {{DeviceKind::cuda, ordinal},
          "cuda:" + std::to_string(ordinal) + " (" + cuda.found[ordinal].name + "), "
              + (text == "auto" ? "found" : "as asked")};
}

Context makeContext(const Device& device, int threads, double mostDeviceBytes)
{
  return {device, threads,
          device.kind == DeviceKind::cuda ? Stream::onDevice(device.ordinal, mostDeviceBytes) : nullptr};
}

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
      failAs(ExitCode::usage, where,
             "\"" + text + "\": " + (isTwice ? "a device stands there twice" : "no such devices"),
             "different numbers, such as \"cuda:0,1\"");
    ordinals.push_back(ordinal);
    at = end + 1;
  }
  std::vector<DeviceChoice> choices;
  for (const int ordinal : ordinals)
    choices.push_back(chooseDevice(prefix + std::to_string(ordinal), where, ""));
  return choices;
}

}
