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

/// A block of memory for matrices. The constructor writes nothing to it: pages that nobody touches take no
/// memory. Blocks of 4 MiB and more lie in huge pages. When such a block is destroyed, its pages are kept for
/// the next block of about its size, because getting fresh pages from the system takes longer than filling
/// them; the system may take kept pages back at any time.
class MemoryBlock {
public:
  /// Reserved blocks are larger than what will be written to them.
  enum class Use { whole, reserved };

  /// Throws Error(outOfMemory) if the system refuses the memory, or has less of it free than a block needs
  /// that will be written whole.
  explicit MemoryBlock(std::size_t bytes, Use = Use::whole);
  /// Maps a file: a byte is read from the disk when it is first touched, and writing changes the memory
  /// alone, never the file. Throws Error(unreadableInput) if the file is missing, empty or unreadable.
  explicit MemoryBlock(const std::string& path);
  ~MemoryBlock();
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  /// Returns all kept pages to the system.
  static void releaseKept();

  std::byte* data() { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns the pages behind the first `bytes` bytes to the system.
  void shrink(std::size_t bytes);

private:
  enum class Kind { heap, pages, file };

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, mappedBytes_ = 0;
  Kind kind_ = Kind::heap;
};

/// An array of numbers whose copies share one block of memory, which may be a mapped file. The elements of a
/// new array have no defined value unless one is given.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  Array() = default;
  explicit Array(std::size_t count, MemoryBlock::Use use = MemoryBlock::Use::whole)
      : block_(std::make_shared<MemoryBlock>(count * sizeof(T), use)),
        data_(reinterpret_cast<T*>(block_->data())), size_(count)
  {
  }
  Array(std::size_t count, T value) : Array(count) { std::fill(begin(), end(), value); }
  Array(const std::vector<T>& values) : Array(values.size())
  {
    if (!values.empty())
      std::memcpy(data_, values.data(), values.size() * sizeof(T));
  }
  Array(std::initializer_list<T> values) : Array(std::vector<T>(values)) {}
  /// The `count` elements that begin at byte `offset` of a block.
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

  /// Keeps the first `count` elements and returns the pages behind them to the system. Allowed only for
  /// arrays that own their whole block.
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
