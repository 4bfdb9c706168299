#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera {

/// An owned array on the device of its context. Spans of it may be handed to anything that runs on the same device.
template <class T>
class Buffer {
public:
  Buffer() = default;
  Buffer(const Context&, std::size_t count) : values_(count) {}

  std::size_t size() const { return values_.size(); }
  std::span<T> span() { return values_; }
  std::span<const T> span() const { return values_; }

  std::vector<T> toHost(const Context&) const { return values_; }
  void fromHost(const Context&, std::span<const T> host) { values_.assign(host.begin(), host.end()); }

private:
  std::vector<T> values_;
};

}
