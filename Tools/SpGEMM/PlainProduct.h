#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>

namespace tessera {

/// How C differs from a product that is made entry by entry, in double, or in int64 for integers.
struct PlainComparison {
  std::uint64_t misplaced = 0; // entries that one has and the other has not
  double largestError = 0;     // of an entry, relative to the sum of the magnitudes of what it is made of
};

/// A and B as they were given, `options` as they were multiplied by (without tolerance).
template <class V>
PlainComparison compareWithPlain(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                                 const SpGemmOptions<V>& options, const CsrMatrix<V>& c);

}
