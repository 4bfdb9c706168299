#include "Core/Compute/Memory/LargeArrays.h"

#include "Core/Compute/Threads/Parallel.h"

#include <sys/mman.h>

#include <cstdint>

namespace tessera {
namespace {

constexpr std::uintptr_t pageBytes = 4096, largePageBytes = std::uintptr_t(2) << 20;
constexpr std::size_t large = std::size_t(16) << 20; // smaller arrays often get memory that was in use before

}

void useLargePages(void* memory, std::size_t bytes)
{
  if (bytes < large)
    return;
  if (std::align(pageBytes, pageBytes, memory, bytes))
    madvise(memory, bytes, MADV_HUGEPAGE); // without large pages it works too
}

void touchPages(const Context& context, void* memory, std::size_t bytes)
{
  if (bytes < large)
    return;
  useLargePages(memory, bytes);
  forEachRange(context, bytes, largePageBytes, [&](std::size_t first, std::size_t last) {
    volatile char* const at = static_cast<volatile char*>(memory);
    for (std::size_t i = first; i < last; i += pageBytes)
      at[i] = 0;
  });
}

}
