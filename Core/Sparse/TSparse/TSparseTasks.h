#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Sparse/TSparse/TSparseTiles.h"

#include <cstdint>
#include <functional>

namespace tessera {

/// Hears that all work of a part of a product is in the stream, for those who measure parts; may be empty.
using PartListener = std::function<void(const char* part)>;

/// A pair of tiles whose product has an entry, by their numbers.
struct alignas(8) TileTask {
  std::uint32_t tileOfA, tileOfB;
};

/// The tiles of C = A B in the order of row and column of tiles, and the tasks of each: the products for tile
/// i are tasks firstTask[i] .. firstTask[i + 1] - 1, in the order of k.
struct TaskListOnCuda {
  std::uint64_t tasks = 0;
  std::uint32_t tiles = 0;
  Buffer<TileTask> task;
  Buffer<std::uint32_t> firstTask; // tiles + 1 elements
  Buffer<std::uint32_t> column;    // one for each tile, in tiles
  Buffer<std::uint32_t> rowStart;  // first tile of each row of tiles, and the end
};

/// The largest number of tasks in a list.
constexpr std::uint64_t maxTasksOnCuda = 0x7fffffff;
/// Bytes that making a list takes for each task at most; the list is included.
constexpr std::uint64_t bytesATask =
    2 * (sizeof(std::uint64_t) + sizeof(TileTask)) + 3 * sizeof(std::uint32_t);

/// Makes task lists. The host waits twice for each, for the number of tasks and for that of tiles.
class TaskListMaker {
public:
  TESSERA_CUDA_ONLY explicit TaskListMaker(const Context&);

  /// Expands the pairs of tiles of A and B that meet, leaves out those whose boolean product is empty, and
  /// sorts them by the tile of C. Throws Error(outOfMemory) for more than `maxTasks` tasks, before it takes
  /// memory for them.
  TaskListOnCuda make(const BitmapTilesOnCuda& a, const BitmapTilesOnCuda& b, std::size_t columnsOfB,
                      std::uint64_t maxTasks, const PartListener& = {});

private:
  Context context_;
  PinnedValues<std::uint64_t> tasks_;
  PinnedValues<std::uint32_t> tiles_;
};

}
