#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Parallel.h"
#include "Core/Sparse/CsrMatrix.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

namespace tessera {

/// Objects that chunks of a parallel loop borrow one after the other: as many are made as threads want at
/// once.
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

/// Room for the rows of a chunk.
template <class V>
struct RowRoom {
  std::uint32_t* column = nullptr;
  V* value = nullptr;
};

/// The rows of a matrix, made chunk by chunk by several threads: each chunk is made in a room of its own, and
/// then copied, while it is still in the cache, behind the chunks before it, for which it waits. One thread
/// makes chunks right at their places. Arrays of the largest size that the matrix may have are reserved;
/// pages that stay untouched cost nothing.
template <class V>
class OrderedRows {
public:
  static constexpr std::size_t slack = 16; // makers may write so many entries behind their last one

  /// `starts` are the first rows of the chunks and, at the end, the number of rows; `bounds` what each chunk
  /// may have at most. A matrix of more than `limitBytes` is an Error(outOfMemory).
  OrderedRows(const Context& context, std::size_t columns, std::vector<std::size_t> starts,
              std::vector<std::uint64_t> bounds, std::uint64_t limitBytes)
      : context_(context), starts_(std::move(starts)), bounds_(std::move(bounds)),
        mostEntries_(limitBytes / (sizeof(std::uint32_t) + sizeof(V))), begins_(starts_.size())
  {
    const std::uint64_t most = std::accumulate(bounds_.begin(), bounds_.end(), std::uint64_t(0)) + slack;
    matrix_ = emptyMatrix<V>(starts_.back(), columns);
    matrix_.column = Array<std::uint32_t>(most);
    matrix_.value = Array<V>(most);
    for (auto& begin : begins_)
      begin.store(unknown, std::memory_order_relaxed);
    begins_[0] = 0;
  }

  /// Calls make(firstRow, lastRow, room, rowCounts) for each chunk; it writes the number of entries of row
  /// firstRow + i to rowCounts[i] and returns their sum. The first exception is thrown again.
  template <class Make>
  CsrMatrix<V> run(Make&& make)
  {
    const std::size_t chunks = starts_.size() - 1;
    forEachChunk(context_, chunks, [&](std::size_t chunk) {
      try {
        context_.threads > 1 ? makeAside(chunk, make) : makeInPlace(chunk, make);
      } catch (...) { // no chunk behind it may wait for this one
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
    if (position != failedBegin && position > mostEntries_)
      throw Error(ExitCode::outOfMemory,
                  "A B: C has more than " + std::to_string(mostEntries_)
                      + " entries, which do not fit into the memory. Allowed: a larger memory limit, or to "
                        "take C in ranges of rows.");
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
    if (aside->column.size() < bounds_[chunk] + slack) {
      aside->column = Array<std::uint32_t>(bounds_[chunk] + slack);
      aside->value = Array<V>(bounds_[chunk] + slack);
    }
    const std::uint64_t count =
        make(starts_[chunk], starts_[chunk + 1], RowRoom<V>{aside->column.data(), aside->value.data()},
             matrix_.rowStart.data() + starts_[chunk] + 1);
    const std::uint64_t at = begin(chunk); // chunks are handed out in order: those before are being made
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
  std::uint64_t mostEntries_;
  std::vector<std::atomic<std::uint64_t>> begins_; // where the entries of each chunk begin
  CsrMatrix<V> matrix_;
  Workspaces<Aside> rooms_;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
};

}
