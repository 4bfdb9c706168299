#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera {

/// Lets the system give large pages to memory that nobody has touched yet: giving pages takes longer than
/// filling them.
void useLargePages(void* memory, std::size_t bytes);
/// The same, and the context's threads have all pages given.
void touchPages(const Context&, void* memory, std::size_t bytes);

/// For values that are written before they are read.
template <class T>
std::unique_ptr<T[]> largeArray(std::size_t count)
{
  auto values = std::make_unique_for_overwrite<T[]>(count);
  useLargePages(values.get(), count * sizeof(T));
  return values;
}

/// As many zeros.
template <class T>
std::vector<T> largeVector(const Context& context, std::size_t count)
{
  std::vector<T> values;
  values.reserve(count);
  touchPages(context, values.data(), count * sizeof(T));
  values.resize(count);
  return values;
}

}
