#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>

namespace tessera {

/// The differences between C and a plain product, which is summed up entry by entry in double precision (in
/// int64 for integers).
struct PlainComparison {
  std::uint64_t misplaced = 0; // entries that only one of the two has
  // The largest error of an entry, relative to the sum of the magnitudes of its products and of D.
  double largestError = 0;
};

/// Compares C with the plain product. A and B are as they were given; `options` are those of the product,
/// without a tolerance.
template <class V>
PlainComparison compareWithPlain(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                                 const SpGemmOptions<V>& options, const CsrMatrix<V>& c);

}
