#include "Core/Compute/Performance/BlockChoice.h"

#include "Core/Compute/Performance/BlockThreads.h"
#include "Core/Compute/Performance/DeviceRates.h"

#include <algorithm>

namespace tessera {

int BlockChoice::threads(int device, std::size_t items, const std::function<KernelLaunch(int)>& launchOf)
{
  constexpr int free = 0;
  if (const int wanted = BlockThreads::orUsual(free); wanted != free)
    return std::clamp(wanted, candidates_.front(), candidates_.back());
  const std::lock_guard lock(mutex_);
  const auto [found, isNew] = chosen_.try_emplace({device, items}, candidates_.front());
  if (isNew) {
    std::vector<KernelLaunch> launches;
    for (const int candidate : candidates_)
      launches.push_back(launchOf(candidate));
    found->second = candidates_[fastest(deviceRates(device), launches)];
  }
  return found->second;
}

}
