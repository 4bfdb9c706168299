#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

/// Solves the dense system matrix * x = right for several right sides, by elimination with partial pivoting;
/// matrix row-major, count x count; right row-major, count x sides, replaced by x. False if the matrix is
/// singular to rounding.
bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t sides);

}
