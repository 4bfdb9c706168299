#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tessera {

/// The number of threads of a block, for kernels that give the same bits with any. While an object lives,
/// those that its thread launches take blocks of about so many threads: a kernel rounds the number to one
/// that it can take. For benchmarks and tests. Objects may be nested.
class BlockThreads {
public:
  explicit BlockThreads(int threads);
  ~BlockThreads();
  BlockThreads(const BlockThreads&) = delete;
  BlockThreads& operator=(const BlockThreads&) = delete;

  /// The number of the innermost object, or the usual one if there is no object.
  static int orUsual(int usual);

private:
  int before_;
};

/// Threads of a block by kernel and number of items, as `tessera-bench calibrate --model` chooses them.
using BlockSizes = std::map<std::string, std::map<std::size_t, int>>;

/// To be called before kernels run on this CUDA device. May be called by several threads.
void setBlockSizes(int device, BlockSizes);

/// The number of BlockThreads; else that of the table for the least number of items that is not smaller, or
/// for the largest; else the usual one.
int blockThreads(int device, const std::string& kernel, std::size_t items, int usual);

}
