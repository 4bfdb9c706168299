#include "Core/Sparse/Array.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr std::size_t hugePage = std::size_t(2) << 20, page = 4096, cacheLine = 64;

std::size_t roundedUp(std::size_t bytes, std::size_t unit)
{
  return (bytes + unit - 1) / unit * unit;
}

[[noreturn]] void failToTake(std::size_t bytes)
{
  throw Error(ExitCode::outOfMemory, "memory: " + std::to_string(bytes >> 20) + " MiB in one piece: the system refuses them. "
                                         + "Allowed: smaller matrices, or a smaller --max-memory, which works in ranges of rows.");
}

[[noreturn]] void failToMap(const std::string& path, const std::string& wrong)
{
  throw Error(ExitCode::unreadableInput, path + ": " + wrong + ". Allowed: a file that exists and may be read.");
}

/// Whole huge pages, aligned, without taking memory for them yet.
std::byte* mapHuge(std::size_t bytes)
{
  const std::size_t reserved = bytes + hugePage;
  void* const got = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED)
    failToTake(bytes);
  std::byte* const start = static_cast<std::byte*>(got);
  const std::size_t before = roundedUp(reinterpret_cast<std::uintptr_t>(start), hugePage) - reinterpret_cast<std::uintptr_t>(start);
  if (before > 0)
    munmap(start, before);
  if (reserved - before > bytes)
    munmap(start + before + bytes, reserved - before - bytes);
  madvise(start + before, bytes, MADV_HUGEPAGE); // a wish: without it all works, slower
  return start + before;
}

}

MemoryBlock::MemoryBlock(std::size_t bytes) : bytes_(bytes)
{
  if (bytes > std::numeric_limits<std::size_t>::max() / 2)
    failToTake(bytes);
  if (bytes < 2 * hugePage) {
    data_ = static_cast<std::byte*>(std::aligned_alloc(cacheLine, roundedUp(bytes + 1, cacheLine)));
    if (!data_)
      failToTake(bytes);
    return;
  }
  mappedBytes_ = roundedUp(bytes, hugePage);
  data_ = mapHuge(mappedBytes_);
}

MemoryBlock::MemoryBlock(const std::string& path)
{
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    const std::string reason = errno == ENOENT ? "no such file" : "cannot be read (" + std::string(std::strerror(errno)) + ")";
    if (file >= 0)
      close(file);
    failToMap(path, reason);
  }
  const std::size_t length = static_cast<std::size_t>(status.st_size);
  void* got = S_ISREG(status.st_mode) && length > 0
                  ? mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0)
                  : MAP_FAILED;
  const std::string reason = !S_ISREG(status.st_mode) ? "not a file" : length == 0 ? "the file is empty" : "cannot be mapped";
  close(file);
  if (got == MAP_FAILED)
    failToMap(path, reason);
  data_ = static_cast<std::byte*>(got);
  bytes_ = mappedBytes_ = length;
  madvise(got, length, MADV_WILLNEED);
}

MemoryBlock::~MemoryBlock()
{
  if (mappedBytes_ > 0)
    munmap(data_, mappedBytes_);
  else
    std::free(data_);
}

void MemoryBlock::shrink(std::size_t bytes)
{
  const std::size_t kept = std::max(roundedUp(bytes, page), page);
  bytes_ = bytes;
  if (kept >= mappedBytes_)
    return;
  munmap(data_ + kept, mappedBytes_ - kept);
  mappedBytes_ = kept;
}

}
