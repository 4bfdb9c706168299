#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// Memory that is not written to before it is used; large blocks lie in huge pages, and pages that nobody
/// touches cost nothing. Large blocks that are not needed any more are kept for the next of their size: to
/// take pages from the system costs more than to fill them. The system may take their pages back at any time.
class MemoryBlock {
public:
  /// Throws Error(outOfMemory) if the system refuses.
  explicit MemoryBlock(std::size_t bytes);
  /// A file's bytes as they are, read when they are touched; writing changes memory alone. Throws
  /// Error(unreadableInput).
  explicit MemoryBlock(const std::string& path);
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  /// Gives the kept blocks back to the system.
  static void releaseKept();

  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Gives pages behind the first `bytes` back.
  void shrink(std::size_t bytes);

private:
  enum class Kind { heap, pages, file };

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, mappedBytes_ = 0;
  Kind kind_ = Kind::heap;
};

/// An array of numbers whose copies share one memory, which may be a mapped file. New arrays hold anything.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  Array() = default;
  explicit Array(std::size_t count)
      : block_(std::make_shared<MemoryBlock>(count * sizeof(T))), data_(reinterpret_cast<T*>(block_->data())),
        size_(count)
  {
  }
  Array(std::size_t count, T value) : Array(count) { std::fill(begin(), end(), value); }
  Array(const std::vector<T>& values) : Array(values.size())
  {
    if (!values.empty())
      std::memcpy(data_, values.data(), values.size() * sizeof(T));
  }
  Array(std::initializer_list<T> values) : Array(std::vector<T>(values)) {}
  /// `count` elements in a block, from byte `offset` on.
  Array(std::shared_ptr<MemoryBlock> block, std::size_t offset, std::size_t count)
      : block_(std::move(block)), data_(reinterpret_cast<T*>(block_->data() + offset)), size_(count)
  {
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<const T> span() const { return {data_, size_}; }
  std::vector<T> toVector() const { return {begin(), end()}; }

  /// Keeps the first `count` elements; the pages behind them are given back. Only for arrays that own their
  /// whole block.
  void truncate(std::size_t count)
  {
    size_ = count;
    if (block_)
      block_->shrink(count * sizeof(T));
  }

private:
  std::shared_ptr<MemoryBlock> block_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}
