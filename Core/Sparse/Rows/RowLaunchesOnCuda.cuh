#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/Rows/SideStreams.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace tessera {

struct BlockRowRoom;

/// The rows of one bin, in a list in device memory.
struct RowList {
  const std::uint32_t* list;
  std::uint32_t count;
};

/// The threads in a block for sorted rows, the bins that one kernel computes together, and the largest number
/// of products that a warp sorts.
constexpr int sorterThreads = 256, sortedBins = 5, maxSortedProducts = 512;

/// The rows of at most 8, 16, 32, 64 and 128 products, and the first block of each bin. The blocks of the
/// longest rows come first.
struct SortedBins {
  RowList rows[sortedBins];
  unsigned firstBlock[sortedBins], blocks;
};

/// The needs of rows of C, and the shared memory there is.
struct RowLimits {
  std::size_t columns;
  int topWords, words;     // words of bits for all columns, in two levels
  std::size_t sharedBytes; // for each block
};

/// The kernels of one pass over rows in bins. Functions that return bool return false, without launching
/// anything, if there is too little shared memory.
class RowLaunches {
public:
  virtual ~RowLaunches() = default;

  virtual void sortedRows(const SortedBins&, cudaStream_t) const = 0;
  /// Rows of at most `products` products, with `threads` threads for each row unless a warp sorts them.
  virtual bool stagedRows(const RowList&, int products, int threads, const RowLimits&,
                          cudaStream_t) const = 0;
  /// Rows with more products and at most `entries` entries.
  virtual bool warpRows(const RowList&, int entries, const RowLimits&, cudaStream_t) const = 0;
  /// Rows of at most `entries` entries, or of any number if it is 0.
  virtual bool longRows(const RowList&, int entries, const RowLimits&, cudaStream_t) const = 0;
  /// Rows of any size.
  virtual void blockRows(const RowList&, const RowLimits&, cudaStream_t) const = 0;
};

/// The pass that counts the entries of rows of C = A B.
std::unique_ptr<RowLaunches> countingPass(const PatternView& a, const PatternView& b,
                                          std::uint32_t* rowCounts);

/// Launches the kernels for all bins, those of the longest rows first, and `beside`, which may run at the
/// same time.
void launchRows(const Context&, SideStreams&, const RowLaunches&, const RowBinCounts&,
                const std::uint32_t* binnedRows, std::size_t rows, std::size_t columns,
                const std::function<void(void* stream)>& beside = {});

/// The shared memory for kernels with a block for each row and so many sums.
BlockRowRoom blockRowRoom(const RowLimits&, int sums);

/// The number of rows of a block, if each has so many threads and takes so much shared memory.
int rowsABlockFor(int threads, std::size_t bytes);

/// Allows a kernel to use so much dynamic shared memory.
template <class Kernel>
void allowShared(Kernel kernel, std::size_t bytes)
{
  if (bytes > (48 << 10))
    checkCuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "shared memory of rows");
}

}
