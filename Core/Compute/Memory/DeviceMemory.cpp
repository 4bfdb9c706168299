#include "Core/Compute/Memory/DeviceMemory.h"

#include "Core/Compute/Cuda/Stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tessera {
void DeviceMemory::add(const std::string& name, double bytes)
{
  const auto known = std::ranges::find(parts_, name, &Part::name);
  if (known != parts_.end())
    known->bytes += bytes;
  else
    parts_.push_back({name, bytes});
}

void DeviceMemory::add(const DeviceMemory& others)
{
  for (const Part& part : others.parts_)
    add(part.name, part.bytes);
}

double DeviceMemory::bytes() const
{
  double sum = 0;
  for (const Part& part : parts_)
    sum += part.bytes;
  return sum;
}

std::string DeviceMemory::text() const
{
  std::vector<Part> sorted = parts_;
  std::ranges::stable_sort(sorted, std::greater{}, &Part::bytes);
  const double negligible = bytes() / 1000;
  double others = 0;
  std::string text;
  const auto report = [&text](const std::string& name, double bytes) {
    text += (text.empty() ? "" : ", ") + name + " " + memoryText(bytes);
  };
  for (const Part& part : sorted)
    if (part.bytes >= std::max(1e6, negligible))
      report(part.name, part.bytes);
    else
      others += part.bytes;
  if (others > negligible)
    report("others", others);
  return text;
}

std::string memoryText(double bytes)
{
  char text[64];
  if (bytes > 999e6) {
    std::snprintf(text, sizeof text, "%.1f GB", std::ceil(bytes / 1e8) / 10);
    return text;
  }
  if (bytes > 0 && bytes <= 99) {
    std::snprintf(text, sizeof text, std::ceil(bytes) == 1 ? "%g byte" : "%g bytes", std::ceil(bytes));
    return text;
  }
  const bool isSmall = bytes <= 999e3;
  const double unit = isSmall ? 1e3 : 1e6;
  std::snprintf(text, sizeof text, isSmall ? "%g kB" : "%g MB",
                bytes < 10 * unit ? std::ceil(bytes / (unit / 10)) / 10 : std::ceil(bytes / unit));
  return text;
}

double usableDeviceMemory(const Context& context)
{
  return context.stream->usableBytes();
}

bool isSmallOnDevice(const Context& context, double bytes)
{
  return 16 * bytes <= usableDeviceMemory(context);
}

double takePeakDeviceMemory(const Context& context)
{
  return context.stream->takePeakBytes();
}

}
