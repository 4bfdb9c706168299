#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera {

/// Asks the system for large pages for memory that has not been used yet. It takes longer to get small pages
/// than to fill them.
void useLargePages(void* memory, std::size_t bytes);
/// The same; then the context's threads touch all pages, so that the system provides them in parallel.
void touchPages(const Context&, void* memory, std::size_t bytes);

/// An array whose values are not set. Each must be written before it is read.
template <class T>
std::unique_ptr<T[]> largeArray(std::size_t count)
{
  auto values = std::make_unique_for_overwrite<T[]>(count);
  useLargePages(values.get(), count * sizeof(T));
  return values;
}

/// A vector of zeros.
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
