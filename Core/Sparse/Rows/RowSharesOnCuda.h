#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// Cuts the rows of A into `parts` ranges with about equal numbers of products of A B. Returns the first row
/// of each range, a multiple of 8, and at the end the number of rows. Waits for the device.
TESSERA_CUDA_ONLY std::vector<std::size_t> balancedRowStarts(const Context&, const PatternView& a,
                                                             const PatternView& b, std::size_t parts);

/// Does the same from the products before each row, with their total at the end.
TESSERA_CUDA_ONLY std::vector<std::size_t>
balancedRowStarts(const Context&, const Buffer<std::uint64_t>& productsBefore, std::size_t parts);

}
