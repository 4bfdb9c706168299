#pragma once

#include "Core/Compute/HostDevice.h"

#include <bit>
#include <cstdint>
#include <vector>

namespace tessera {

/// A set of numbers below a limit, stored as bits in two levels. Adding a number takes two writes; visiting
/// the set takes time in proportion to the range of its numbers, not to the limit.
class ColumnSet {
public:
  explicit ColumnSet(std::size_t limit) : words_(limit / 64 + 1), summary_(limit / 4096 + 1) {}

  TESSERA_ALWAYS_INLINE void add(std::uint32_t column)
  {
    words_[column >> 6] |= std::uint64_t(1) << (column & 63);
    summary_[column >> 12] |= std::uint64_t(1) << (column >> 6 & 63);
  }

  /// Adds column 64 word + i for each set bit i.
  TESSERA_ALWAYS_INLINE void addWord(std::size_t word, std::uint64_t bits)
  {
    words_[word] |= bits;
    summary_[word >> 6] |= std::uint64_t(bits != 0) << (word & 63);
  }

  /// Calls visit(column) for all numbers in rising order and empties the set. All numbers must lie in [first,
  /// last].
  template <class Visit>
  TESSERA_ALWAYS_INLINE void drain(std::uint32_t first, std::uint32_t last, Visit&& visit)
  {
    for (std::size_t s = first >> 12; s <= last >> 12; ++s) {
      for (std::uint64_t blocks = summary_[s]; blocks != 0; blocks &= blocks - 1) {
        const std::size_t w = s * 64 + static_cast<std::size_t>(std::countr_zero(blocks));
        for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1)
          visit(static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
        words_[w] = 0;
      }
      summary_[s] = 0;
    }
  }

private:
  std::vector<std::uint64_t> words_, summary_;
};

}
