#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>
#include <optional>

namespace tessera {

/// What is done to rows of a product A B on a CUDA device, in this order; RowEpilogue.h is the same on the
/// CPU. All matrices have as many rows as C, or the range of them that C is.
template <class V>
struct RowEpilogueOnCuda {
  std::optional<PatternView> mask; // entries stay where it has one
  bool complementMask = false;     // or where it has none
  const std::int32_t *rowExponent = nullptr,
                     *columnExponent = nullptr; // value times 2^(sum of both); float alone, null: not done
  std::optional<V> scale;
  std::optional<CsrView<V>> accumulate;
  std::optional<double> dropTolerance;

  /// Throws Error(usage) if an int64 is beyond 64 bits, for which it waits.
  CsrOnCuda<V> apply(const Context&, Semiring, CsrOnCuda<V> c) const;
};

}
