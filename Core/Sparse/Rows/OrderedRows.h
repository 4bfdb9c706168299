#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/CsrMatrix.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

namespace tessera {

/// A pool of objects that the chunks of a parallel loop borrow in turn. It makes as many objects as threads
/// need at the same time.
template <class T>
class Workspaces {
public:
  template <class Make>
  std::unique_ptr<T> borrow(Make&& make)
  {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<T> taken = std::move(free_.back());
        free_.pop_back();
        return taken;
      }
    }
    return make();
  }
  void giveBack(std::unique_ptr<T> object)
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

/// The memory into which a chunk writes its rows.
template <class V>
struct RowRoom {
  std::uint32_t* column = nullptr;
  V* value = nullptr;
};

/// Builds a matrix from chunks of rows that several threads compute. Each chunk is computed in memory of its
/// own and then copied behind the chunks before it, while it is still in the cache; the copy waits until
/// their sizes are known. A single thread writes chunks to their places at once. The arrays are reserved for
/// the largest number of entries that the matrix may have; pages that are not touched take no memory.
template <class V>
class OrderedRows {
public:
  /// `starts`: the first row of each chunk and, at the end, the number of rows. `bounds`: the largest number
  /// of entries of each chunk. run() throws Error(outOfMemory) if the matrix needs more than `limitBytes`.
  OrderedRows(const Context& context, std::size_t columns, std::vector<std::size_t> starts,
              std::vector<std::uint64_t> bounds, std::uint64_t limitBytes)
      : context_(context), starts_(std::move(starts)), bounds_(std::move(bounds)),
        maxEntries_(limitBytes / (sizeof(std::uint32_t) + sizeof(V))), begins_(starts_.size())
  {
    const std::uint64_t most = std::accumulate(bounds_.begin(), bounds_.end(), std::uint64_t(0));
    matrix_ = emptyMatrix<V>(starts_.back(), columns);
    matrix_.column = Array<std::uint32_t>(most, MemoryBlock::Use::reserved);
    matrix_.value = Array<V>(most, MemoryBlock::Use::reserved);
    for (auto& begin : begins_)
      begin.store(unknown, std::memory_order_relaxed);
    begins_[0] = 0;
  }

  /// Calls make(firstRow, lastRow, room, rowCounts) for each chunk, which must set rowCounts[i] to the number
  /// of entries of row firstRow + i and return their sum. Rethrows the first exception.
  template <class Make>
  CsrMatrix<V> run(Make&& make)
  {
    const std::size_t chunks = starts_.size() - 1;
    forEachChunk(context_, chunks, [&](std::size_t chunk) {
      try {
        context_.threads > 1 ? makeAside(chunk, make) : makeInPlace(chunk, make);
      } catch (...) { // later chunks must not wait for this one
        if (!failed_.exchange(true))
          failure_ = std::current_exception();
        end(chunk, failedBegin);
      }
    });
    if (failure_)
      std::rethrow_exception(failure_);
    std::partial_sum(matrix_.rowStart.begin(), matrix_.rowStart.end(), matrix_.rowStart.begin());
    matrix_.column.truncate(matrix_.entries());
    matrix_.value.truncate(matrix_.entries());
    return std::move(matrix_);
  }

private:
  static constexpr std::uint64_t unknown = ~std::uint64_t(0), failedBegin = unknown - 1;
  struct Aside {
    Array<std::uint32_t> column;
    Array<V> value;
  };

  void end(std::size_t chunk, std::uint64_t position)
  {
    if (position != failedBegin && position > maxEntries_)
      failAs(ExitCode::outOfMemory, "A B",
             "C has more than " + std::to_string(maxEntries_) + " entries, which do not fit into the memory",
             "a larger memory limit, or C in ranges of rows");
    begins_[chunk + 1].store(position, std::memory_order_release);
    begins_[chunk + 1].notify_all();
  }
  std::uint64_t begin(std::size_t chunk)
  {
    begins_[chunk].wait(unknown, std::memory_order_acquire);
    return begins_[chunk].load(std::memory_order_acquire);
  }

  template <class Make>
  void makeInPlace(std::size_t chunk, Make& make)
  {
    const std::uint64_t at = begin(chunk);
    if (at == failedBegin)
      return end(chunk, failedBegin);
    end(chunk, at
                   + make(starts_[chunk], starts_[chunk + 1],
                          RowRoom<V>{matrix_.column.data() + at, matrix_.value.data() + at},
                          matrix_.rowStart.data() + starts_[chunk] + 1));
  }

  template <class Make>
  void makeAside(std::size_t chunk, Make& make)
  {
    if (failed_)
      return end(chunk, failedBegin);
    std::unique_ptr<Aside> aside = rooms_.borrow([] { return std::make_unique<Aside>(); });
    if (aside->column.size() < bounds_[chunk]) {
      aside->column = Array<std::uint32_t>(bounds_[chunk], MemoryBlock::Use::reserved);
      aside->value = Array<V>(bounds_[chunk], MemoryBlock::Use::reserved);
    }
    const std::uint64_t count =
        make(starts_[chunk], starts_[chunk + 1], RowRoom<V>{aside->column.data(), aside->value.data()},
             matrix_.rowStart.data() + starts_[chunk] + 1);
    const std::uint64_t at =
        begin(chunk); // does not wait forever: chunks begin in order, so the earlier ones are being computed
    end(chunk, at == failedBegin ? at : at + count);
    if (at != failedBegin && count > 0) {
      std::memcpy(matrix_.column.data() + at, aside->column.data(), count * sizeof(std::uint32_t));
      std::memcpy(matrix_.value.data() + at, aside->value.data(), count * sizeof(V));
    }
    rooms_.giveBack(std::move(aside));
  }

  const Context& context_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint64_t> bounds_;
  std::uint64_t maxEntries_;
  std::vector<std::atomic<std::uint64_t>> begins_; // first entry of each chunk
  CsrMatrix<V> matrix_;
  Workspaces<Aside> rooms_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
};

}
