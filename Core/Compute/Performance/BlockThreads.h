#pragma once

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

}
