#include "Core/Compute/Memory/MemoryCount.h"

#include "Core/Compute/Cuda/Stream.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace tessera {
namespace {

/// Its addresses are distinct and not null, and must not be read or written.
class CountingStream final : public Stream {
public:
  std::string part = "others"; // of what is taken next

  const DeviceMemory& memory() const { return now_; }
  const DeviceMemory& peak() const { return peak_; }

  void* allocate(std::size_t bytes) override
  {
    constexpr std::uintptr_t alignment = 256; // that of CUDA's allocations, and more than any element needs
    const std::uintptr_t address = nextAddress_;
    nextAddress_ += (bytes / alignment + 1) * alignment;
    held_[address] = {part, static_cast<double>(bytes)};
    now_.add(part, static_cast<double>(bytes));
    if (now_.bytes() > peak_.bytes())
      peak_ = now_;
    return reinterpret_cast<void*>(address); // NOLINT(performance-no-int-to-ptr): it is only compared
  }
  void release(void* memory, std::size_t) noexcept override
  {
    const auto known = held_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (known == held_.end())
      return;
    now_.add(known->second.name, -known->second.bytes);
    held_.erase(known);
  }
  std::size_t freeBytes() override { return std::numeric_limits<std::size_t>::max(); }
  double usableBytes() override { return std::numeric_limits<double>::infinity(); }
  double takePeakBytes() override { return std::exchange(peak_, now_).bytes(); }

  void copyToDevice(void*, const void*, std::size_t) override {}
  void copyToHost(void*, const void*, std::size_t) override { refuse(); }
  void copyOnDevice(void*, const void*, std::size_t) override {}
  void fill(void*, int, std::size_t) override {}
  void* allocatePinned(std::size_t bytes) override { return std::calloc(bytes, 1); }
  void releasePinned(void* memory) noexcept override { std::free(memory); }
  void copyLater(void*, const void*, std::size_t) override {}

  void wait() override {}
  void startTimer() override { refuse(); }
  double stopTimerMilliseconds() override { refuse(); }

private:
  [[noreturn]] static void refuse()
  {
    throw std::logic_error("a count of device memory was asked for numbers or times");
  }

  std::uintptr_t nextAddress_ = 256;
  std::map<std::uintptr_t, DeviceMemory::Part> held_; // each allocation, by its address
  DeviceMemory now_, peak_;
};

}

MemoryCount::MemoryCount() : context_{{DeviceKind::cuda, 0}, 1, std::make_shared<CountingStream>()} {}

DeviceMemory MemoryCount::memory() const
{
  return static_cast<const CountingStream&>(*context_.stream).memory();
}

DeviceMemory MemoryCount::peak() const
{
  return static_cast<const CountingStream&>(*context_.stream).peak();
}

bool onlyCountsMemory(const Context& context)
{
  return dynamic_cast<const CountingStream*>(context.stream.get()) != nullptr;
}

MemoryPart::MemoryPart(const Context& context, std::string name)
{
  auto* const stream = dynamic_cast<CountingStream*>(context.stream.get());
  name_ = stream ? &stream->part : nullptr;
  if (stream)
    before_ = std::exchange(stream->part, std::move(name));
}

MemoryPart::~MemoryPart()
{
  if (name_)
    *name_ = std::move(before_);
}

}
