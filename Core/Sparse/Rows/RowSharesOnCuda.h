#pragma once

#include "Core/Sparse/CsrOnCuda.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// First rows of A, multiples of 8, of `parts` ranges of about as many products of A B each, and the number
/// of rows. Waits.
std::vector<std::size_t> balancedRowStarts(const Context&, const PatternView& a, const PatternView& b,
                                           std::size_t parts);

/// The same where the products before each row and all of them are known.
std::vector<std::size_t> balancedRowStarts(const Context&, const Buffer<std::uint64_t>& productsBefore,
                                           std::size_t parts);

}
