#include "Core/Sparse/RowLaunchesOnCuda.cuh"

#include "Core/Sparse/BlockRowsOnCuda.cuh"
#include "Core/Sparse/WarpRowsOnCuda.cuh"

#include <algorithm>
#include <functional>
#include <vector>

namespace tessera {
namespace {

constexpr int capacityOfWarpBin[] = {256, 512, 1024}; // entries, and words of columns
constexpr int sortedProducts[] = {8, 16, 32, 64};
constexpr int windowTopWordsOfBlock = 1024, windowWordsOfBlock = 4096;
constexpr std::size_t mostWarpRowBytes = 96 << 10; // of a block; more, and too few rows are under way

}

void launchRows(const Context& context, SideStreams& streams, const RowLaunches& pass, const RowBinCounts& bins,
                const std::uint32_t* binnedRows, std::size_t rows, std::size_t columns, int sumsOfBlock)
{
  int mostShared = 0;
  checkCuda(cudaDeviceGetAttribute(&mostShared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device.ordinal),
            "shared memory of a block");
  const auto most = std::min(mostWarpRowBytes, static_cast<std::size_t>(mostShared));
  const int allWords = static_cast<int>(ceilDiv<std::size_t>(columns, columnsAWord));
  const int topWords = static_cast<int>(ceilDiv<std::size_t>(columns, columnsATopWord));
  const bool withSums = sumsOfBlock > 0;
  BlockRowRoom blockRoom{std::min(windowTopWordsOfBlock, topWords), std::min(windowWordsOfBlock, allWords),
                         withSums ? static_cast<int>(std::min<std::size_t>(sumsOfBlock, columns * blockRowWarps)) : 0};
  if (pass.blockRowBytes(blockRoom) > static_cast<std::size_t>(mostShared))
    blockRoom.sums /= 4;

  std::vector<std::function<void(void*)>> launches;
  const auto add = [&](int bin, auto launch) {
    const RowList list{binnedRows + bin * rows, bins.of[bin]};
    if (list.count > 0)
      launches.push_back([=](void* stream) {
        launch(list, static_cast<cudaStream_t>(stream));
        checkLaunch("rows of a product");
      });
  };
  const auto inBlocks = [&, blockRoom](const RowList& list, cudaStream_t stream) {
    pass.blockRows(list, blockRoom, pass.blockRowBytes(blockRoom), stream);
  };
  add(wholeBlock, inBlocks);
  for (int bin = warp1024; bin >= warp256; --bin) {
    const int capacity = capacityOfWarpBin[bin - warp256];
    const WarpRowRoom room{topWords, std::min(capacity, allWords), withSums ? capacity : 0};
    const std::size_t bytes = warpsABlock * pass.warpRowBytes(room);
    if (bytes <= most)
      add(bin, [&pass, room, bytes](const RowList& list, cudaStream_t stream) { pass.warpRows(list, room, bytes, stream); });
    else
      add(bin, inBlocks); // too many columns for bits over all of them
  }
  for (int bin = sorted64; bin >= sorted8; --bin)
    add(bin, [&pass, bin](const RowList& list, cudaStream_t stream) { pass.sortedRows(list, sortedProducts[bin], stream); });
  if (!launches.empty())
    streams.run(launches);
}

}
