#pragma once

#include "Core/Compute/Performance/KernelModels.h"

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tessera {

/// Chooses a kernel's block size by the least predicted time (KernelModels.h) with deviceRates(), once for
/// each number of items and device. For kernels that give the same bits with every block size. May be used by
/// several threads.
class BlockChoice {
public:
  explicit BlockChoice(std::vector<int> candidates) : candidates_(std::move(candidates)) {}

  /// `launchOf` gives the launch with so many threads a block. An object of BlockThreads decides instead,
  /// within the candidates' range.
  int threads(int device, std::size_t items, const std::function<KernelLaunch(int)>& launchOf);

private:
  std::vector<int> candidates_; // from small to large
  std::mutex mutex_;
  std::map<std::pair<int, std::size_t>, int> chosen_;
};

}
