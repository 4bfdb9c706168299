#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// Replaces the lower triangle of a symmetric positive definite matrix (count x count, row-major) by L with
/// L L^T = matrix; the upper triangle is neither read nor written. Returns false if the matrix is not
/// positive definite up to rounding. It has the same bits for any number of threads.
bool factorCholesky(const Context&, std::vector<double>& matrix, std::size_t count);

/// right = L^-1 right, where `right` has count rows, each with a number for every right-hand side.
void solveLower(const Context&, const std::vector<double>& factor, std::size_t count,
                std::vector<double>& right, std::size_t rightHandSides);

/// right = (L L^T)^-1 right.
void solveCholesky(const Context&, const std::vector<double>& factor, std::size_t count,
                   std::vector<double>& right, std::size_t rightHandSides);

}
