#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>

namespace tessera {

/// False if a number is infinite or not a number.
template <class V>
bool allFinite(const Context&, const Array<V>&);

/// True if no sum in A B can leave the range of 64-bit integers, by the largest magnitudes of A and B and the
/// longest row of A.
bool sumsFitInt64(const Context&, const CsrMatrix<std::int64_t>& a, const CsrMatrix<std::int64_t>& b);

}
