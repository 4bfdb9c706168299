#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>

namespace tessera {

/// True unless a number is infinite or not a number.
template <class V>
bool allFinite(const Context&, const Array<V>&);

/// True if no entry of A B can be beyond 64 bits, judged by the largest numbers and the longest row of A.
bool sumsFitInt64(const Context&, const CsrMatrix<std::int64_t>& a, const CsrMatrix<std::int64_t>& b);

}
