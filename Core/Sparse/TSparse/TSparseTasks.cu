#include "Core/Sparse/TSparse/TSparseTasks.h"

#include "Core/Sparse/Analysis/CubMemory.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Analysis/WarpScan.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_run_length_encode.cuh>

#include <algorithm>
#include <string>

namespace tessera {
namespace {

constexpr int taskThreads = 256, lanesATile = 8, taskTilesABlock = taskThreads / lanesATile;

/// Calls body(live, number of B's tile) for all tiles of B that a tile of A meets. The lanes of A's tile take
/// them side by side; `live` is true if the product has an entry.
template <class Body>
__device__ void forTasksOf(const BitmapTileView& a, const BitmapTileView& b, std::uint32_t tile, Body&& body)
{
  const TilePattern pattern = a.pattern[tile];
  const std::uint32_t k = a.column[tile], first = b.rowStart[k], last = b.rowStart[k + 1];
  for (std::uint32_t other = first; other < last; other += lanesATile) {
    const std::uint32_t own = other + threadIdx.x % lanesATile;
    body(own < last && patternsMeet(pattern, b.pattern[own]), own);
  }
}

/// The mask of the lanes that work on this thread's tile of A.
__device__ unsigned lanesOfTile()
{
  return ((1u << lanesATile) - 1) << (threadIdx.x % 32 / lanesATile * lanesATile);
}

/// Counts the tasks of each tile of A (thesis, Algorithm 2, lines 1-5). Memory traffic: reads 20 bytes for
/// each tile of A and 8 for each tile of B that it meets; writes 4 for each tile of A.
__global__ void __launch_bounds__(taskThreads)
    countTasks(BitmapTileView a, BitmapTileView b, std::uint32_t tiles, std::uint32_t* counts)
{
  const std::uint32_t tile = blockIdx.x * taskTilesABlock + threadIdx.x / lanesATile;
  if (tile >= tiles)
    return;
  std::uint32_t count = 0;
  forTasksOf(a, b, tile, [&](bool live, std::uint32_t) {
    count += __popc(__ballot_sync(lanesOfTile(), live) & lanesOfTile());
  });
  if (threadIdx.x % lanesATile == 0)
    counts[tile] = count;
}

/// Writes the tasks and their keys, which are row and column of the tile of C (thesis, Algorithm 2, lines
/// 1-5). Memory traffic: reads 24 bytes for each tile of A and 12 for each tile of B that it meets; writes a
/// key and 8 bytes for each task.
template <class Key>
__global__ void __launch_bounds__(taskThreads)
    expandTasks(BitmapTileView a, BitmapTileView b, std::uint32_t tiles, const std::uint64_t* starts,
                int columnBits, Key* keys, TileTask* tasks)
{
  const std::uint32_t tile = blockIdx.x * taskTilesABlock + threadIdx.x / lanesATile;
  if (tile >= tiles)
    return;
  std::uint64_t at = starts[tile];
  const Key row = static_cast<Key>(a.row[tile]) << columnBits;
  forTasksOf(a, b, tile, [&](bool live, std::uint32_t other) {
    const unsigned all = __ballot_sync(lanesOfTile(), live) & lanesOfTile();
    if (live) {
      const std::uint64_t to = at + __popc(all & bitsBefore(threadIdx.x % 32));
      keys[to] = row | b.column[other];
      tasks[to] = {tile, other};
    }
    at += __popc(all);
  });
}

/// Writes the column of each tile of C and the first tile of each row of tiles, from their keys. Memory
/// traffic: reads two keys and writes 4 bytes for each tile.
template <class Key>
__global__ void __launch_bounds__(taskThreads)
    placeTiles(const Key* keys, std::uint32_t tiles, int columnBits, std::uint32_t groups,
               std::uint32_t* columns, std::uint32_t* rowStart)
{
  const std::uint32_t tile = blockIdx.x * taskThreads + threadIdx.x;
  if (tile > tiles)
    return;
  if (tile < tiles)
    columns[tile] = static_cast<std::uint32_t>(keys[tile] & ((Key{1} << columnBits) - 1));
  const std::uint32_t before = tile == 0 ? 0 : static_cast<std::uint32_t>(keys[tile - 1] >> columnBits) + 1;
  const std::uint32_t own = tile == tiles ? groups : static_cast<std::uint32_t>(keys[tile] >> columnBits);
  for (std::uint32_t row = before; row <= own; ++row) // an empty row of tiles begins where the next tile is
    rowStart[row] = tile;
}

struct Expansion {
  const BitmapTilesOnCuda &a, &b;
  const std::uint64_t* starts; // first task of each tile of A
  int rowBits, columnBits;
  const PartListener& listener;

  void tell(const char* part) const
  {
    if (listener)
      listener(part);
  }
};

/// Expands the tasks, sorts them by the tile of C and counts the tiles of C (thesis, Algorithm 2, lines
/// 1-14). The host waits for the number of tiles, which comes by *tilesOfC.
template <class Key>
TaskListOnCuda sortedTasks(const Context& context, const Expansion& from, std::uint64_t tasks,
                           PinnedValues<std::uint32_t>& tilesOfC)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const std::size_t groups = from.a.rowStart.size() - 1;
  Buffer<Key> keys(context, tasks), otherKeys(context, tasks);
  Buffer<TileTask> list(context, tasks), otherList(context, tasks);
  expandTasks<Key><<<ceilDiv<unsigned>(from.a.tiles, taskTilesABlock), taskThreads, 0, stream>>>(
      from.a.view(), from.b.view(), from.a.tiles, from.starts, from.columnBits, keys.span().data(),
      list.span().data());
  checkLaunch("tasks of tiles");
  from.tell("tasks");
  cub::DoubleBuffer<Key> sortedKeys(keys.span().data(), otherKeys.span().data());
  cub::DoubleBuffer<TileTask> sortedList(list.span().data(), otherList.span().data());
  withCubMemory(context, "sorting tasks", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, sortedKeys, sortedList, tasks, 0,
                                           std::max(from.rowBits + from.columnBits, 1), stream);
  });

  TaskListOnCuda made;
  made.tasks = tasks;
  made.task = std::move(sortedList.Current() == list.span().data() ? list : otherList);
  Buffer<std::uint32_t> counts(context, tasks + 1), runs(context, 1);
  withCubMemory(context, "tiles of C", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(memory, bytes, sortedKeys.Current(), sortedKeys.Alternate(),
                                              counts.span().data(), runs.span().data(),
                                              static_cast<int>(tasks), stream);
  });
  tilesOfC.copyLater(runs.span().data());
  context.stream->wait();
  made.tiles = tilesOfC[0];
  made.firstTask = Buffer<std::uint32_t>(context, made.tiles + 1);
  scanOnCuda(context, made.tiles, counts.span().data(), made.firstTask.span().data());
  made.column = Buffer<std::uint32_t>(context, made.tiles);
  made.rowStart = Buffer<std::uint32_t>(context, groups + 1);
  placeTiles<Key><<<ceilDiv<unsigned>(made.tiles + 1, taskThreads), taskThreads, 0, stream>>>(
      sortedKeys.Alternate(), made.tiles, from.columnBits, static_cast<std::uint32_t>(groups),
      made.column.span().data(), made.rowStart.span().data());
  checkLaunch("places of tiles of C");
  from.tell("sorting");
  return made;
}

}

TaskListMaker::TaskListMaker(const Context& context)
    : context_(context), tasks_(context, 1), tiles_(context, 1)
{
}

TaskListOnCuda TaskListMaker::make(const BitmapTilesOnCuda& a, const BitmapTilesOnCuda& b,
                                   std::size_t columnsOfB, std::uint64_t maxTasks,
                                   const PartListener& listener)
{
  Buffer<std::uint32_t> counts(context_, std::size_t{a.tiles} + 1);
  Buffer<std::uint64_t> starts(context_, std::size_t{a.tiles} + 1);
  countTasks<<<ceilDiv<unsigned>(a.tiles, taskTilesABlock), taskThreads, 0, cudaStreamOf(context_)>>>(
      a.view(), b.view(), a.tiles, counts.span().data());
  checkLaunch("counting tasks of tiles");
  scanOnCuda(context_, a.tiles, counts.span().data(), starts.span().data());
  tasks_.copyLater(starts.span().data() + a.tiles);
  context_.stream->wait();
  const std::uint64_t tasks = tasks_[0];
  if (tasks > maxTasks)
    throw Error(ExitCode::outOfMemory,
                "A B by tSparse: " + std::to_string(tasks) + " pairs of tiles: more than "
                    + std::to_string(maxTasks)
                    + " at once. Allowed: a larger limit of memory, or C in ranges of rows.");
  if (tasks == 0) {
    TaskListOnCuda none;
    none.rowStart = Buffer<std::uint32_t>(context_, a.rowStart.size());
    return none;
  }
  const int rowBits = bitsFor(a.rowStart.size() - 1),
            columnBits = bitsFor(ceilDiv<std::size_t>(columnsOfB, 8));
  const Expansion from{a, b, starts.span().data(), rowBits, columnBits, listener};
  return rowBits + columnBits <= 32 ? sortedTasks<std::uint32_t>(context_, from, tasks, tiles_)
                                    : sortedTasks<std::uint64_t>(context_, from, tasks, tiles_);
}

}
