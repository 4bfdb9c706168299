#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// Continuous indices in an image at equal steps: first + i * step for i < count. `count` is at most
/// batchCapacity.
template <int D>
struct IndexRow {
  Vec<D> first{}, step{};
  std::size_t count = 0;
};

/// Points [begin, end) of a row.
struct RowSpan {
  std::int32_t begin = 0, end = 0;
};

}
