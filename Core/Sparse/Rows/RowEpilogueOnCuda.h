#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>
#include <optional>

namespace tessera {

/// The operations that turn A B into C on a CUDA device, in the order of the members; RowEpilogue.h does the
/// same on the CPU. All matrices must have the rows of C, or the range of rows that C is.
template <class V>
struct RowEpilogueOnCuda {
  std::optional<PatternView> mask; // entries stay where the mask has one
  bool complementMask = false;     // entries stay where the mask has none
  // Values are multiplied by 2^(exponent of the row + exponent of the column); for float only; null: not
  // done.
  const std::int32_t *rowExponent = nullptr, *columnExponent = nullptr;
  std::optional<V> scale;
  std::optional<CsrView<V>> accumulate;
  std::optional<double> dropTolerance;

  /// Throws Error(usage) if an int64 leaves the range of 64 bits; waits to learn it.
  TESSERA_CUDA_ONLY CsrOnCuda<V> apply(const Context&, Semiring, CsrOnCuda<V> c) const;
};

/// The entries of C whose flags are not 0; C's entries and flags have the same numbers.
template <class V>
TESSERA_CUDA_ONLY CsrOnCuda<V> keptWhereMet(const Context&, const CsrView<V>& c, const std::uint8_t* met);

/// Throws Error(usage) if an int64 has left the range of 64 bits, which the number on the device tells; waits
/// to learn it.
TESSERA_CUDA_ONLY void checkOverflowOnCuda(const Context&, const std::uint32_t* overflowed);

}
