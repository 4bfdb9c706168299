#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>

namespace tessera {

/// By which powers of two rows of A are divided before they are rounded to half precision, as HalfPrecision.h
/// has it.
Buffer<std::int32_t> halfExponentsOfRowsOnCuda(const Context&, const CsrView<float>&);

/// The same of columns of B.
Buffer<std::int32_t> halfExponentsOfColumnsOnCuda(const Context&, const CsrView<float>&);

}
