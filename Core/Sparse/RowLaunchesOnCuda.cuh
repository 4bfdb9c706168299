#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/ProductAnalysisOnCuda.h"
#include "Core/Sparse/SideStreams.h"

#include <cstdint>

namespace tessera {

struct WarpRowRoom;
struct BlockRowRoom;

/// Rows of one bin, listed on the device.
struct RowList {
  const std::uint32_t* list;
  std::uint32_t count;
};

/// The kernels of one pass over binned rows.
class RowLaunches {
public:
  virtual ~RowLaunches() = default;

  /// Shared memory of a row.
  virtual std::size_t warpRowBytes(const WarpRowRoom&) const = 0;
  virtual std::size_t blockRowBytes(const BlockRowRoom&) const = 0;

  /// Rows of at most that many products: 8, 16, 32 or 64.
  virtual void sortedRows(const RowList&, int products, cudaStream_t) const = 0;
  /// `bytes`: of shared memory a block.
  virtual void warpRows(const RowList&, const WarpRowRoom&, std::size_t bytes, cudaStream_t) const = 0;
  virtual void blockRows(const RowList&, const BlockRowRoom&, std::size_t bytes, cudaStream_t) const = 0;
};

/// Launches them for all bins, those of the largest rows first. `sumsOfBlock` are those of a block a row, 0 if the pass has no
/// sums.
void launchRows(const Context&, SideStreams&, const RowLaunches&, const RowBinCounts&, const std::uint32_t* binnedRows,
                std::size_t rows, std::size_t columns, int sumsOfBlock);

/// Lets a kernel take so much dynamic shared memory.
template <class Kernel>
void allowShared(Kernel kernel, std::size_t bytes)
{
  if (bytes > (48 << 10))
    checkCuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "shared memory of rows");
}

/// Blocks of 256 threads for `count` rows of so many lanes.
inline unsigned sorterBlocks(std::uint32_t count, unsigned lanes)
{
  return static_cast<unsigned>(ceilDiv<std::uint64_t>(std::uint64_t{count} * lanes, 256));
}

}
