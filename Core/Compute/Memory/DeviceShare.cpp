#include "Core/Compute/Memory/DeviceShare.h"

#include "Core/Compute/Cuda/Stream.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace tessera {
namespace {

/// The shares of all devices. Never destroyed, since a stream may outlive static objects.
struct Shares {
  std::mutex mutex, planning;
  std::vector<const DeviceShare*> all;
};

Shares& shares()
{
  static Shares& shares = *new Shares;
  return shares;
}

}

DeviceShare::DeviceShare(int ordinal, double limit) : ordinal_(ordinal), limit_(limit)
{
  const std::lock_guard lock(shares().mutex);
  shares().all.push_back(this);
}

DeviceShare::~DeviceShare()
{
  const std::lock_guard lock(shares().mutex);
  std::erase(shares().all, this);
}

bool DeviceShare::take(double bytes)
{
  const double now = taken_ += bytes;
  if (now > limit_) {
    taken_ -= bytes;
    return false;
  }
  for (double peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);)
    ;
  return true;
}

double DeviceShare::reservedByOthers() const
{
  const std::lock_guard lock(shares().mutex);
  double bytes = 0;
  for (const DeviceShare* other : shares().all)
    if (other != this && other->ordinal_ == ordinal_)
      bytes += std::max(0.0, other->reserved_ - other->taken_);
  return bytes;
}

DeviceReservation::DeviceReservation(const Context& context, const std::function<double()>& plan)
{
  const std::lock_guard lock(shares().planning);
  const double bytes = plan();
  if (!context.stream || !context.stream->share())
    return;
  context.stream->share()->reserve(bytes);
  stream_ = {context.stream.get(), [stream = context.stream](Stream*) { stream->share()->reserve(0); }};
}

}
