#pragma once

#include "Core/Compute/Cuda/Stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace tessera::testing {

/// A stream whose device is the host, for what only takes memory and copies: those are done at once. Copies
/// on the device that run into themselves fail the test, since no device allows them.
class HostStream : public Stream {
public:
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* memory, std::size_t) noexcept override { std::free(memory); }
  std::size_t freeBytes() override { return 0; }
  double usableBytes() override { return 0; }
  double takePeakBytes() override { return 0; }

  void copyToDevice(void* device, const void* host, std::size_t bytes) override
  {
    std::memcpy(device, host, bytes);
  }
  void copyToHost(void* host, const void* device, std::size_t bytes) override
  {
    std::memcpy(host, device, bytes);
  }
  void copyOnDevice(void* to, const void* from, std::size_t bytes) override
  {
    const auto* const a = static_cast<const char*>(to);
    const auto* const b = static_cast<const char*>(from);
    EXPECT_TRUE(a + bytes <= b || b + bytes <= a) << "a copy of " << bytes << " bytes by " << a - b;
    std::memmove(to, from, bytes);
  }
  void fill(void* device, int byte, std::size_t bytes) override { std::memset(device, byte, bytes); }

  void* allocatePinned(std::size_t bytes) override { return std::malloc(bytes); }
  void releasePinned(void* memory) noexcept override { std::free(memory); }
  void copyLater(void* pinned, const void* device, std::size_t bytes) override
  {
    std::memcpy(pinned, device, bytes);
  }

  void wait() override {}
  void startTimer() override {}
  double stopTimerMilliseconds() override { return 0; }
};

}
