#pragma once

#include "Core/Compute/Context.h"

#include <atomic>
#include <functional>
#include <limits>
#include <memory>

namespace tessera {

/// Counts the bytes of a CUDA device's memory that one stream has taken and reserved. The shares of a device
/// know each other, so that runs at once in one process each plan with what the others leave. Any thread may
/// call any function.
class DeviceShare {
public:
  explicit DeviceShare(int ordinal, double limit = std::numeric_limits<double>::infinity());
  ~DeviceShare();
  DeviceShare(const DeviceShare&) = delete;
  DeviceShare& operator=(const DeviceShare&) = delete;

  /// Counts the bytes as taken, and returns whether they are within the limit; otherwise nothing is counted.
  bool take(double bytes);
  void giveBack(double bytes) { taken_ -= bytes; }
  /// Returns the bytes that may still be taken within the limit, or infinity if there is no limit.
  double left() const { return std::max(0.0, limit_ - taken_); }
  /// The most that was taken at once since the last call.
  double takePeak() { return peak_.exchange(taken_); }

  void reserve(double bytes) { reserved_ = bytes; }
  /// The bytes that other shares of the device have reserved and not taken yet.
  double reservedByOthers() const;

private:
  const int ordinal_;
  const double limit_;
  std::atomic<double> taken_{0}, peak_{0}, reserved_{0};
};

/// Memory of a CUDA device that is kept for planned work of a context until the object ends.
class DeviceReservation {
public:
  DeviceReservation() = default; // of nothing
  /// Reserves the bytes that `plan` returns, which asks usableDeviceMemory(context). No two plans of a
  /// process are made at once, so none counts on the same memory. Throws what `plan` throws.
  DeviceReservation(const Context&, const std::function<double()>& plan);

private:
  std::shared_ptr<Stream> stream_; // with the reservation; the deleter ends it
};

}
