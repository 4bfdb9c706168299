#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

/// Solves the dense system matrix * x = right for `sides` right-hand sides, by elimination with partial
/// pivoting. `matrix` is count x count and `right` count x sides, both row-major; `right` is replaced by x.
/// Returns false if the matrix is singular up to rounding.
bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t sides);

}
