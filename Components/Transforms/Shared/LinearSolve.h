#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

/// Solves the dense system matrix * x = right for several right-hand sides, by elimination with partial
/// pivoting. `matrix` is count x count and `right` has a column for each right-hand side, both row-major;
/// `right` is replaced by x. Returns false if the matrix is singular up to rounding.
bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t rightHandSides);

}
