#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <cstddef>

// The matrices of ProjectedSystem on a CUDA device, row-major and in double precision. All arrays lie there.
namespace tessera {

/// K of `count` landmarks (D numbers each) in blocks of D x D (block 1: of one number): zero for a landmark
/// with itself, else G times the scales of both landmarks. `scales` null: they are 1.
template <int D>
TESSERA_CUDA_ONLY void splineMatrixOnCuda(const Context&, SplineKernel, double alpha,
                                          const double* landmarksMm, const double* scales,
                                          const Matrix<D>* matrices, std::size_t count, std::size_t block,
                                          double* matrix);

/// products = matrix times vectors; both have `vectors` arrays of `rows` numbers.
TESSERA_CUDA_ONLY void multiplyVectorsOnCuda(const Context&, const double* matrix, std::size_t rows,
                                             const double* factors, std::size_t vectors, double* products);

/// Computes the rows from `unknowns` on of K - V Y^T - Y V^T, where V and Y are `unknowns` arrays of `rows`
/// numbers. Their first `unknowns` columns go to `border`, and `sign` times the rest of the lower triangle
/// goes to `matrix`.
TESSERA_CUDA_ONLY void projectOnCuda(const Context&, const double* kernel, std::size_t rows, const double* v,
                                     const double* y, std::size_t unknowns, double sign, double* border,
                                     double* matrix);

/// Copies the diagonal of a matrix.
TESSERA_CUDA_ONLY void copyDiagonalOnCuda(const Context&, const double* matrix, std::size_t rows,
                                          double* diagonal);

}
