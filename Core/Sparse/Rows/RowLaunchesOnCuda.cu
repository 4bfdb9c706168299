#include "Core/Sparse/Rows/RowLaunchesOnCuda.cuh"

#include "Core/Sparse/Rows/BlockRowsOnCuda.cuh"

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera {
namespace {

constexpr int windowTopWordsOfBlock = 1024, windowWordsOfBlock = 4096;
constexpr std::size_t keptForKernels = 1 << 10; // shared memory for the kernels' own variables

/// A bin of rows with at most `size` products or entries, and the threads for each row.
struct BinSize {
  int bin, size, threads;
};
constexpr unsigned lanesOfSorted[sortedBins] = {4, 4, 8, 16, 32};
constexpr BinSize stagedBins[] = {{staged8192, 8192, 512}, {staged4096, 4096, 256}, {staged2048, 2048, 256},
                                  {staged1024, 1024, 128}, {sorted512, 512, 64},    {sorted256, 256, 32}};
constexpr BinSize longBins[] = {{anyLong, 0, 0}, {long8192, 8192, 0}};

SortedBins sortedBinsOf(const RowBinCounts& bins, const std::uint32_t* binnedRows, std::size_t rows)
{
  static_assert(sorted8 == 0 && sorted128 == sortedBins - 1);
  SortedBins all{};
  for (int bin = sortedBins - 1; bin >= 0; --bin) {
    all.rows[bin] = {binnedRows + bin * rows, bins.of[bin]};
    all.firstBlock[bin] = all.blocks;
    all.blocks += static_cast<unsigned>(
        ceilDiv<std::uint64_t>(std::uint64_t{bins.of[bin]} * lanesOfSorted[bin], sorterThreads));
  }
  return all;
}

}

BlockRowRoom blockRowRoom(const RowLimits& limits, int sums)
{
  return {std::min(windowTopWordsOfBlock, limits.topWords), std::min(windowWordsOfBlock, limits.words),
          static_cast<int>(std::min<std::size_t>(sums, limits.columns * blockRowWarps))};
}

int rowsABlockFor(int threads, std::size_t bytes)
{
  constexpr int most = 4;
  constexpr std::size_t fewBytes = 12 << 10;
  return threads == 32 && bytes <= fewBytes ? most : 1;
}

void launchRows(const Context& context, SideStreams& streams, const RowLaunches& pass,
                const RowBinCounts& bins, const std::uint32_t* binnedRows, std::size_t rows,
                std::size_t columns, const std::function<void(void*)>& beside)
{
  int shared = 0;
  checkCuda(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
            "shared memory of a block");
  const RowLimits limits{columns, static_cast<int>(ceilDiv<std::size_t>(columns, columnsATopWord)),
                         static_cast<int>(ceilDiv<std::size_t>(columns, columnsAWord)),
                         static_cast<std::size_t>(shared) - keptForKernels};
  std::vector<std::function<void(void*)>> launches;
  const auto add = [&](int bin, auto launch) {
    const RowList list{binnedRows + bin * rows, bins.of[bin]};
    if (list.count > 0)
      launches.push_back([=, &pass](void* onStream) {
        const auto stream = static_cast<cudaStream_t>(onStream);
        if (!launch(list, stream))
          pass.blockRows(list, limits, stream);
        checkLaunch("rows of a product");
      });
  };
  for (const BinSize& of : longBins)
    add(of.bin, [&, of](const RowList& list, cudaStream_t stream) {
      return pass.longRows(list, of.size, limits, stream);
    });
  for (const BinSize& of : stagedBins)
    add(of.bin, [&, of](const RowList& list, cudaStream_t stream) {
      return pass.stagedRows(list, of.size, of.threads, limits, stream);
    });
  add(warp512,
      [&](const RowList& list, cudaStream_t stream) { return pass.warpRows(list, 512, limits, stream); });
  const SortedBins sorted = sortedBinsOf(bins, binnedRows, rows);
  if (sorted.blocks > 0)
    launches.push_back([=, &pass](void* stream) {
      pass.sortedRows(sorted, static_cast<cudaStream_t>(stream));
      checkLaunch("rows of a product");
    });
  if (beside)
    launches.push_back(beside);
  if (!launches.empty())
    streams.run(launches);
}

}
