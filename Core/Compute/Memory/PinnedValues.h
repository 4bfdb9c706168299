#pragma once

#include "Core/Compute/Cuda/Stream.h"

#include <type_traits>
#include <utility>

namespace tessera {

/// Values in pinned memory of the host, which a CUDA device fills while the host does other work.
template <class T>
class PinnedValues {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  PinnedValues() = default;
  PinnedValues(const Context& context, std::size_t count)
      : stream_(context.stream), size_(count),
        values_(static_cast<T*>(stream_->allocatePinned(count * sizeof(T))))
  {
  }
  ~PinnedValues()
  {
    if (values_)
      stream_->releasePinned(values_);
  }
  PinnedValues(PinnedValues&& other) noexcept { *this = std::move(other); }
  PinnedValues& operator=(PinnedValues&& other) noexcept
  {
    std::swap(stream_, other.stream_);
    std::swap(size_, other.size_);
    std::swap(values_, other.values_);
    return *this;
  }

  std::size_t size() const { return size_; }
  /// Copies all values from `device`. They may be read after the stream's next wait.
  void copyLater(const T* device) { stream_->copyLater(values_, device, size_ * sizeof(T)); }
  T& operator[](std::size_t i) { return values_[i]; }
  const T& operator[](std::size_t i) const { return values_[i]; }

private:
  std::shared_ptr<Stream> stream_;
  std::size_t size_ = 0;
  T* values_ = nullptr;
};

}
