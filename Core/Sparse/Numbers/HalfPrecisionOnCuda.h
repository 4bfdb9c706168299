#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// The exponents of the powers of two by which rows of A are divided before rounding to half precision, one
/// for each row; see HalfPrecision.h.
Buffer<std::int32_t> halfExponentsOfRowsOnCuda(const Context&, const CsrView<float>&);

/// The exponents for the columns of B, one for each column.
Buffer<std::int32_t> halfExponentsOfColumnsOnCuda(const Context&, const CsrView<float>&);

}
