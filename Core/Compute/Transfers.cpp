#include "Core/Compute/Transfers.h"

#include <chrono>

namespace tessera {

HostClock::HostClock(const Context& context)
    : context_(&context), start_(hostMilliseconds() - transferMilliseconds(context))
{
}

double HostClock::milliseconds() const
{
  return hostMilliseconds() - transferMilliseconds(*context_) - start_;
}

double hostMilliseconds()
{
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}
