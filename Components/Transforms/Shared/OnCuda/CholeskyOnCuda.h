#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/Buffer.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// The Cholesky factor of a symmetric positive definite matrix on a CUDA device, in double precision. The
/// matrix is cut into tiles of 64 x 64; the inverses of the factor's diagonal tiles make solutions products.
/// Equal matrices have factors with the same bits.
class CholeskyOnCuda {
public:
  /// Factors matrix + added I. Only the lower triangle (count x count, row-major, on the context's device) is
  /// read; it is copied. Returns false if that is not positive definite up to rounding.
  bool factor(const Context&, const Buffer<double>& matrix, std::size_t count, double added);

  /// right = L^-1 right or, `bothFactors`, (L L^T)^-1 right. `right` lies on the host and has count rows,
  /// each with a number for every right-hand side.
  void solve(const Context&, std::vector<double>& right, std::size_t rightHandSides, bool bothFactors) const;

private:
  std::size_t count_ = 0;
  Buffer<double> factor_, inverses_;
};

constexpr std::size_t choleskyTile = 64;

// All arrays lie on the device. There is an inverse of 64 x 64 numbers for each tile of the diagonal.

/// Writes the factor over the lower triangle, and the inverses. `failed` becomes 1 if a pivot is negligible;
/// it must be 0 before.
TESSERA_CUDA_ONLY void factorTilesOnCuda(const Context&, double* matrix, std::size_t count, double added,
                                         double* inverses, int* failed);
/// solution = L^-1 right, or L^-T right if `isTransposed`. `right` is overwritten.
TESSERA_CUDA_ONLY void solveTilesOnCuda(const Context&, const double* factor, const double* inverses,
                                        std::size_t count, bool isTransposed, double* right,
                                        std::size_t rightHandSides, double* solution);

}
