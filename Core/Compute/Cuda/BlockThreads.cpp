#include "Core/Compute/Cuda/BlockThreads.h"

#include <mutex>
#include <utility>

namespace tessera {
namespace {

thread_local int wanted = 0; // 0: the usual number

std::mutex mutex;
std::map<int, BlockSizes> tables; // by device

}

BlockThreads::BlockThreads(int threads) : before_(wanted)
{
  wanted = threads;
}

BlockThreads::~BlockThreads()
{
  wanted = before_;
}

int BlockThreads::orUsual(int usual)
{
  return wanted > 0 ? wanted : usual;
}

void setBlockSizes(int device, BlockSizes sizes)
{
  const std::lock_guard lock(mutex);
  tables[device] = std::move(sizes);
}

int blockThreads(int device, const std::string& kernel, std::size_t items, int usual)
{
  const std::lock_guard lock(mutex);
  const auto table = tables.find(device);
  if (table != tables.end())
    if (const auto sizes = table->second.find(kernel);
        sizes != table->second.end() && !sizes->second.empty()) {
      const auto next = sizes->second.lower_bound(items);
      usual = next == sizes->second.end() ? sizes->second.rbegin()->second : next->second;
    }
  return BlockThreads::orUsual(usual);
}

}
