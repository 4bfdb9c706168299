#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/TSparse/TSparseTiles.h"

#include <cstdint>

namespace tessera {

/// A pair of tiles whose product has an entry, by their numbers.
struct alignas(8) TileTask {
  std::uint32_t tileOfA, tileOfB;
};

/// Tiles of C = A B, by row and column of tiles, and what is added up for each: tasks firstTask[i] ..
/// firstTask[i + 1] - 1 of tile i, in the order of k.
struct TaskListOnCuda {
  std::uint64_t tasks = 0;
  std::uint32_t tiles = 0;
  Buffer<TileTask> task;
  Buffer<std::uint32_t> firstTask; // tiles + 1
  Buffer<std::uint32_t> column;    // of each tile, in tiles
  Buffer<std::uint32_t> rowStart;  // first tile of each row of tiles, and the end
};

/// As many tasks as one list may have.
constexpr std::uint64_t mostTasksOnCuda = 0x7fffffff;
/// What making a list takes for each task at most, the list included.
constexpr std::uint64_t bytesATask =
    2 * (sizeof(std::uint64_t) + sizeof(TileTask)) + 3 * sizeof(std::uint32_t);

/// Makes task lists; the host waits for two sizes.
class TaskListMaker {
public:
  explicit TaskListMaker(const Context&);

  /// Expands the pairs of a tile of A and one of B that meet, leaves out those whose boolean product is
  /// empty, and sorts them by the tile of C. Throws Error(outOfMemory) for more than `mostTasks`, before it
  /// takes memory for them.
  TaskListOnCuda make(const BitmapTilesOnCuda& a, const BitmapTilesOnCuda& b, std::size_t columnsOfB,
                      std::uint64_t mostTasks);

private:
  Context context_;
  PinnedValues<std::uint64_t> tasks_;
  PinnedValues<std::uint32_t> tiles_;
};

}
