#include "Core/Sparse/Array.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr std::size_t hugePage = std::size_t(2) << 20, cacheLine = 64;

std::size_t roundedUp(std::size_t bytes, std::size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

const std::string allowedSizes = "smaller matrices, or a smaller --max-memory, which works in ranges of rows";

[[noreturn]] void failToTake(std::size_t bytes)
{
  failAs(ExitCode::outOfMemory, "memory",
         std::to_string(bytes >> 20) + " MiB in one piece: the system refuses them", allowedSizes);
}

void requireFree(std::size_t bytes)
{
  const auto ask = [&] {
    requireMemory(static_cast<double>(bytes), "memory: an array of a matrix in one piece", allowedSizes);
  };
  try {
    ask();
  } catch (const Error&) {
    MemoryBlock::releaseKept();
    ask();
  }
}

[[noreturn]] void failToMap(const std::string& path, const std::string& wrong)
{
  failAs(ExitCode::unreadableInput, path, wrong, "a file that exists and may be read");
}

/// Reserves addresses for `bytes` (whole huge pages), aligned to huge pages. Pages take memory when they are
/// first written to. Null if the system refuses.
std::byte* mapHuge(std::size_t bytes)
{
  const std::size_t reserved = bytes + hugePage;
  void* const got =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED)
    return nullptr;
  std::byte* const start = static_cast<std::byte*>(got);
  const std::size_t before =
      roundedUp(reinterpret_cast<std::uintptr_t>(start), hugePage) - reinterpret_cast<std::uintptr_t>(start);
  if (before > 0)
    munmap(start, before);
  if (reserved - before > bytes)
    munmap(start + before + bytes, reserved - before - bytes);
  madvise(start + before, bytes, MADV_HUGEPAGE); // a hint; without huge pages everything works, only slower
  return start + before;
}

/// Mapped blocks that are not in use. A new block takes one of them where the size fits.
class KeptBlocks {
public:
  static KeptBlocks& instance()
  {
    // It is never destroyed, because arrays with static storage may outlive every other object.
    static KeptBlocks* const kept = new KeptBlocks;
    return *kept;
  }

  /// Returns a block of at least `bytes` and at most a quarter more, and sets `bytes` to its true length;
  /// null if there is none.
  std::byte* take(std::size_t& bytes)
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.lower_bound(bytes);
    if (found == blocks_.end() || found->first > bytes + bytes / 4)
      return nullptr;
    std::byte* const block = found->second;
    bytes = found->first;
    blocks_.erase(found);
    return block;
  }

  void keep(std::byte* block, std::size_t bytes)
  {
    madvise(block, bytes, MADV_FREE); // the pages stay until the system needs them
    std::unique_lock lock(mutex_);
    if (blocks_.size() < maxBlocks) {
      blocks_.emplace(bytes, block);
      return;
    }
    lock.unlock();
    munmap(block, bytes);
  }

  void release()
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [bytes, block] : blocks_)
      munmap(block, bytes);
    blocks_.clear();
  }

private:
  static constexpr std::size_t maxBlocks = 32;
  std::mutex mutex_;
  std::multimap<std::size_t, std::byte*> blocks_; // key: length in bytes
};

}

MemoryBlock::MemoryBlock(std::size_t bytes, Use use) : bytes_(bytes)
{
  if (bytes > std::numeric_limits<std::size_t>::max() / 2)
    failToTake(bytes);
  if (bytes < 2 * hugePage) {
    data_ = static_cast<std::byte*>(std::aligned_alloc(cacheLine, roundedUp(bytes + 1, cacheLine)));
    if (!data_)
      failToTake(bytes);
    return;
  }
  kind_ = Kind::pages;
  mappedBytes_ = roundedUp(bytes, hugePage);
  data_ = KeptBlocks::instance().take(mappedBytes_);
  if (data_)
    return;
  if (use == Use::whole)
    requireFree(bytes);
  data_ = mapHuge(mappedBytes_);
  if (!data_) {
    releaseKept();
    data_ = mapHuge(mappedBytes_);
  }
  if (!data_)
    failToTake(bytes);
}

MemoryBlock::MemoryBlock(const std::string& path)
{
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    const std::string reason =
        errno == ENOENT ? "no such file" : "cannot be read (" + std::string(std::strerror(errno)) + ")";
    if (file >= 0)
      close(file);
    failToMap(path, reason);
  }
  const std::size_t length = static_cast<std::size_t>(status.st_size);
  void* got = S_ISREG(status.st_mode) && length > 0
                  ? mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0)
                  : MAP_FAILED;
  const std::string reason = !S_ISREG(status.st_mode) ? "not a file"
                             : length == 0            ? "the file is empty"
                                                      : "cannot be mapped";
  close(file);
  if (got == MAP_FAILED)
    failToMap(path, reason);
  data_ = static_cast<std::byte*>(got);
  kind_ = Kind::file;
  bytes_ = mappedBytes_ = length;
  madvise(got, length, MADV_WILLNEED);
}

MemoryBlock::~MemoryBlock()
{
  if (kind_ == Kind::heap)
    std::free(data_);
  else if (kind_ == Kind::pages)
    KeptBlocks::instance().keep(data_, mappedBytes_);
  else
    munmap(data_, mappedBytes_);
}

void MemoryBlock::releaseKept()
{
  KeptBlocks::instance().release();
}

void MemoryBlock::shrink(std::size_t bytes)
{
  const std::size_t kept = roundedUp(bytes, hugePage);
  bytes_ = bytes;
  if (kind_ == Kind::pages && kept < mappedBytes_)
    madvise(data_ + kept, mappedBytes_ - kept, MADV_DONTNEED);
}

}
