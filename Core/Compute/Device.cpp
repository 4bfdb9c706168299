#include "Core/Compute/Device.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <cctype>

namespace tessera {
namespace {

bool isCudaName(const std::string& text)
{
  const std::string prefix = "cuda:";
  if (text == "cuda")
    return true;
  return text.starts_with(prefix) && text.size() > prefix.size()
         && std::all_of(text.begin() + prefix.size(), text.end(), [](unsigned char c) { return std::isdigit(c) || c == ','; });
}

}

DeviceChoice chooseDevice(const std::string& text, const std::string& where)
{
  if (text == "cpu")
    return {{DeviceKind::cpu, 0}, "cpu, as asked"};
  if (text == "auto")
    return {{DeviceKind::cpu, 0}, "cpu: this build has no CUDA components"};
  if (isCudaName(text))
    throw Error(ExitCode::device, where + ": \"" + text + "\": this build has no CUDA components. Allowed: \"cpu\" or \"auto\".");
  throw Error(ExitCode::usage, where + ": \"" + text + "\": no such device. Allowed: \"auto\", \"cpu\", \"cuda\" or \"cuda:N\".");
}

}
