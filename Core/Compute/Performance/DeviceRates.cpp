#include "Core/Compute/Performance/DeviceRates.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Performance/GpuAttributes.h"

#include <map>
#include <mutex>

namespace tessera {
namespace {

std::mutex mutex;
std::map<int, GpuRates> known; // by ordinal

GpuRates unmeasured(int ordinal)
{
  std::vector<std::string> assumed;
  return ordinal < static_cast<int>(findCudaDevices().found.size())
             ? ratesByAttributes(attributesOfCudaDevice(ordinal), assumed)
             : usualGpuRates();
}

}

GpuRates deviceRates(int ordinal)
{
  const std::lock_guard lock(mutex);
  const auto found = known.find(ordinal);
  return found != known.end() ? found->second : known.emplace(ordinal, unmeasured(ordinal)).first->second;
}

void setDeviceRates(int ordinal, const GpuRates& rates)
{
  const std::lock_guard lock(mutex);
  known[ordinal] = rates;
}

}
