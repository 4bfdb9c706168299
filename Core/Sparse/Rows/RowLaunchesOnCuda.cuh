#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Rows/SideStreams.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace tessera {

struct BlockRowRoom;

/// Rows of one bin, listed on the device.
struct RowList {
  const std::uint32_t* list;
  std::uint32_t count;
};

/// Threads of a block of sorted rows, bins of such rows that one kernel does, and products that a warp sorts
/// at most.
constexpr int sorterThreads = 256, sortedBins = 5, mostSortedProducts = 512;

/// Rows of at most 8, 16, 32, 64 and 128 products, and where the blocks of each bin begin; those of the
/// largest rows come first.
struct SortedBins {
  RowList rows[sortedBins];
  unsigned firstBlock[sortedBins], blocks;
};

/// What rows of C may need and what there is.
struct RowLimits {
  std::size_t columns;
  int topWords, words;     // of bits over all columns, in two levels
  std::size_t sharedBytes; // of a block
};

/// The kernels of one pass over binned rows. Those that return something return whether it was launched:
/// whether there is enough shared memory.
class RowLaunches {
public:
  virtual ~RowLaunches() = default;

  virtual void sortedRows(const SortedBins&, cudaStream_t) const = 0;
  /// Rows of at most that many products, with so many threads a row unless a warp sorts them.
  virtual bool stagedRows(const RowList&, int products, int threads, const RowLimits&,
                          cudaStream_t) const = 0;
  /// Rows of more products and at most that many entries.
  virtual bool warpRows(const RowList&, int entries, const RowLimits&, cudaStream_t) const = 0;
  /// Rows of at most that many entries, or of any number if 0.
  virtual bool longRows(const RowList&, int entries, const RowLimits&, cudaStream_t) const = 0;
  /// Any rows.
  virtual void blockRows(const RowList&, const RowLimits&, cudaStream_t) const = 0;
};

/// The pass that counts entries of rows of C = A B.
std::unique_ptr<RowLaunches> countingPass(const PatternView& a, const PatternView& b,
                                          std::uint32_t* rowCounts);

/// Launches them for all bins, those of the largest rows first, and what is to be done `beside` them.
void launchRows(const Context&, SideStreams&, const RowLaunches&, const RowBinCounts&,
                const std::uint32_t* binnedRows, std::size_t rows, std::size_t columns,
                const std::function<void(void* stream)>& beside = {});

/// The windows of blocks with a row each, with so many sums.
BlockRowRoom blockRowRoom(const RowLimits&, int sums);

/// Rows of a block, of which each has so many threads and takes so much shared memory.
int rowsABlockFor(int threads, std::size_t bytes);

/// Lets a kernel take so much dynamic shared memory.
template <class Kernel>
void allowShared(Kernel kernel, std::size_t bytes)
{
  if (bytes > (48 << 10))
    checkCuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of rows");
}

}
