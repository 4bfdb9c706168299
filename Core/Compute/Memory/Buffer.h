#pragma once

#include "Core/Compute/Cuda/Stream.h"

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// An owned array on the device of its context. Code that runs on the same device may use spans of it; the
/// host must not read a span of a CUDA device.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  Buffer() = default;
  /// On the CPU the array is filled with zeros; on a CUDA device its numbers are not set.
  Buffer(const Context& context, std::size_t count) { resize(context, count); }
  ~Buffer() { release(); }

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept
  {
    swap(other);
    return *this;
  }

  std::size_t size() const { return size_; }
  std::span<T> span() { return {data(), size_}; }
  std::span<const T> span() const { return {data(), size_}; }

  std::vector<T> toHost(const Context&) const
  {
    if (!stream_)
      return values_;
    std::vector<T> host(size_);
    stream_->copyToHost(host.data(), device_, size_ * sizeof(T));
    return host;
  }
  void fromHost(const Context& context, std::span<const T> host)
  {
    if (host.size() != size_ || context.stream != stream_)
      resize(context, host.size());
    if (stream_)
      stream_->copyToDevice(device_, host.data(), size_ * sizeof(T));
    else
      values_.assign(host.begin(), host.end());
  }

private:
  T* data() { return stream_ ? device_ : values_.data(); }
  const T* data() const { return stream_ ? device_ : values_.data(); }
  void resize(const Context& context, std::size_t count)
  {
    release();
    size_ = count;
    stream_ = context.stream;
    if (stream_)
      device_ = static_cast<T*>(stream_->allocate(count * sizeof(T)));
    else
      values_.resize(count);
  }
  void release() noexcept
  {
    if (stream_)
      stream_->release(std::exchange(device_, nullptr), size_ * sizeof(T));
    stream_.reset();
    size_ = 0;
  }
  void swap(Buffer& other) noexcept
  {
    std::swap(size_, other.size_);
    std::swap(values_, other.values_);
    std::swap(stream_, other.stream_);
    std::swap(device_, other.device_);
  }

  std::size_t size_ = 0;
  std::vector<T> values_;          // used on the CPU
  std::shared_ptr<Stream> stream_; // used on CUDA
  T* device_ = nullptr;
};

/// The buffer's array, enlarged to at least `count` elements. If it has to grow, its numbers are lost.
template <class T>
T* grown(const Context& context, Buffer<T>& buffer, std::size_t count)
{
  if (buffer.size() < count) {
    buffer = {}; // given back first, so that the device need not hold both
    buffer = Buffer<T>(context, count);
  }
  return buffer.span().data();
}

}
