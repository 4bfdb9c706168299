#include "Components/Transforms/Shared/OnCuda/CholeskyOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {
namespace {

constexpr int tile = static_cast<int>(choleskyTile), choleskyThreads = 256;
constexpr int depth = 16;        // columns that products read together
constexpr int padded = tile + 1; // a row in shared memory
constexpr int atOnce = 8;        // right-hand sides that a block solves

/// Adds to the diagonal, and finds the number that is too small for a pivot.
__global__ void __launch_bounds__(choleskyThreads)
    addToDiagonal(double* matrix, const std::size_t count, const double added, double* negligible)
{
  __shared__ double largest[choleskyThreads];
  double own = 0;
  for (std::size_t i = threadIdx.x; i < count; i += choleskyThreads) {
    double& entry = matrix[i * count + i];
    entry += added;
    own = fmax(own, entry);
  }
  largest[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  for (const double other : largest)
    own = fmax(own, other);
  *negligible = own * static_cast<double>(count) * 2.220446049250313e-16;
}

/// One block: factors a tile of the diagonal, and inverts the factor. Beyond the matrix is the identity.
__global__ void __launch_bounds__(choleskyThreads)
    factorTile(double* matrix, const std::size_t count, const std::size_t first, const double* negligible,
               double* inverse, int* failed)
{
  extern __shared__ double shared[];
  double* const a = shared;
  double* const inverted = shared + tile * padded;
  const int width = static_cast<int>(min(count - first, static_cast<std::size_t>(tile)));
  for (int i = threadIdx.x; i < tile * tile; i += choleskyThreads) {
    const int row = i / tile, column = i % tile;
    const bool isThere = row < width && column <= row;
    a[row * padded + column] = isThere         ? matrix[(first + row) * count + first + column]
                               : row == column ? 1
                                               : 0;
    inverted[row * padded + column] = 0;
  }
  __syncthreads();
  for (int j = 0; j < width; ++j) {
    const double pivot = a[j * padded + j];
    const bool isGood = pivot > *negligible;
    if (threadIdx.x == 0 && !isGood)
      *failed = 1;
    const double root = isGood ? sqrt(pivot) : 1;
    __syncthreads();
    for (int row = j + threadIdx.x; row < width; row += choleskyThreads)
      a[row * padded + j] = row == j ? root : a[row * padded + j] / root;
    __syncthreads();
    const int below = width - j - 1;
    for (int i = threadIdx.x; i < below * below; i += choleskyThreads) {
      const int row = j + 1 + i / below, column = j + 1 + i % below;
      if (column <= row)
        a[row * padded + column] =
            fma(-a[row * padded + j], a[column * padded + j], a[row * padded + column]);
    }
    __syncthreads();
  }
  if (threadIdx.x < tile) { // a column of the inverse
    const int column = threadIdx.x;
    for (int row = column; row < tile; ++row) {
      double sum = row == column ? 1 : 0;
      for (int k = column; k < row; ++k)
        sum = fma(-a[row * padded + k], inverted[k * padded + column], sum);
      inverted[row * padded + column] = sum / a[row * padded + row];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < tile * tile; i += choleskyThreads) {
    const int row = i / tile, column = i % tile;
    inverse[i] = inverted[row * padded + column];
    if (row < width && column <= row)
      matrix[(first + row) * count + first + column] = a[row * padded + column];
  }
}

/// sums[r][c] of the rows y + 16 r of a and x + 16 c of b: products over a tile's columns, for a thread
/// (x, y) of 16 x 16. Rows beyond the given numbers count as zero.
__device__ void multiplyRows(const double* a, const std::size_t strideA, const int rowsA, const double* b,
                             const std::size_t strideB, const int rowsB, double (&sums)[4][4])
{
  __shared__ double tileA[depth][padded], tileB[depth][padded];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int from = 0; from < tile; from += depth) {
    __syncthreads();
    for (int i = threadIdx.x; i < tile * depth; i += choleskyThreads) {
      const int row = i / depth, k = i % depth;
      tileA[k][row] = row < rowsA ? a[row * strideA + from + k] : 0;
      tileB[k][row] = row < rowsB ? b[row * strideB + from + k] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      double left[4], right[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        left[r] = tileA[k][y + 16 * r];
        right[r] = tileB[k][x + 16 * r];
      }
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c)
          sums[r][c] = fma(left[r], right[c], sums[r][c]);
    }
  }
}

__device__ int rowsFrom(std::size_t count, std::size_t first)
{
  return static_cast<int>(min(count - first, static_cast<std::size_t>(tile)));
}

/// A block multiplies 64 rows below a tile of the diagonal, which is whole, by the inverse's transposed.
__global__ void __launch_bounds__(choleskyThreads)
    solvePanel(double* matrix, const std::size_t count, const std::size_t first, const double* inverse)
{
  const std::size_t top = first + tile * (1 + static_cast<std::size_t>(blockIdx.x));
  const int rows = rowsFrom(count, top);
  double* const panel = matrix + top * count + first;
  double sums[4][4]{};
  multiplyRows(panel, count, rows, inverse, tile, tile, sums);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  __syncthreads(); // all have read the panel
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c)
      if (y + 16 * r < rows)
        panel[(y + 16 * r) * count + x + 16 * c] = sums[r][c];
}

/// A block subtracts the product of two tiles of a panel from a tile behind it.
__global__ void __launch_bounds__(choleskyThreads)
    subtractProducts(double* matrix, const std::size_t count, const std::size_t first)
{
  if (blockIdx.x > blockIdx.y)
    return;
  const std::size_t top = first + tile * (1 + static_cast<std::size_t>(blockIdx.y)),
                    left = first + tile * (1 + static_cast<std::size_t>(blockIdx.x));
  const int rows = rowsFrom(count, top), columns = rowsFrom(count, left);
  double sums[4][4]{};
  multiplyRows(matrix + top * count + first, count, rows, matrix + left * count + first, count, columns,
               sums);
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 4; ++c) {
      const int row = y + 16 * r, column = x + 16 * c;
      if (row < rows && column < columns && top + row >= left + column)
        matrix[(top + row) * count + left + column] -= sums[r][c];
    }
}

/// A step: each block finds the solution's rows of one tile, and subtracts what they give in another tile.
template <bool IsTransposed>
__global__ void __launch_bounds__(choleskyThreads)
    solveStep(const double* factor, const double* inverses, const std::size_t count, const std::size_t step,
              double* right, const std::size_t rightHandSides, double* solution)
{
  __shared__ double entries[tile][padded], asked[tile][atOnce], found[tile][atOnce];
  const std::size_t own = IsTransposed ? blockIdx.x : step + blockIdx.x, first = step * tile,
                    side = static_cast<std::size_t>(blockIdx.y) * atOnce;
  const int rows = rowsFrom(count, first),
            sides = static_cast<int>(min(rightHandSides - side, std::size_t{atOnce}));
  const double* const inverse = inverses + step * tile * tile;
  for (int i = threadIdx.x; i < tile * tile; i += choleskyThreads)
    entries[i / tile][i % tile] = inverse[i];
  for (int i = threadIdx.x; i < tile * atOnce; i += choleskyThreads) {
    const int row = i / atOnce, s = i % atOnce;
    asked[row][s] = row < rows && s < sides ? right[(first + row) * rightHandSides + side + s] : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < tile * atOnce; i += choleskyThreads) {
    const int row = i / atOnce, s = i % atOnce;
    double sum = 0;
    for (int k = 0; k < tile; ++k)
      sum = fma(IsTransposed ? entries[k][row] : entries[row][k], asked[k][s], sum);
    found[row][s] = sum;
  }
  __syncthreads();
  if (own == step) {
    for (int i = threadIdx.x; i < tile * atOnce; i += choleskyThreads) {
      const int row = i / atOnce, s = i % atOnce;
      if (row < rows && s < sides)
        solution[(first + row) * rightHandSides + side + s] = found[row][s];
    }
    return;
  }
  const std::size_t target = own * tile;
  const int targetRows = rowsFrom(count, target);
  for (int i = threadIdx.x; i < tile * tile; i += choleskyThreads) {
    const int row = i / tile, column = i % tile;
    // L of (target, first), or of (first, target)
    const bool isThere = IsTransposed ? row < rows : row < targetRows && column < rows;
    entries[row][column] = !isThere       ? 0
                           : IsTransposed ? factor[(first + row) * count + target + column]
                                          : factor[(target + row) * count + first + column];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < tile * atOnce; i += choleskyThreads) {
    const int row = i / atOnce, s = i % atOnce;
    if (row >= targetRows || s >= sides)
      continue;
    double sum = right[(target + row) * rightHandSides + side + s];
    for (int k = 0; k < tile; ++k)
      sum = fma(-(IsTransposed ? entries[k][row] : entries[row][k]), found[k][s], sum);
    right[(target + row) * rightHandSides + side + s] = sum;
  }
}

}

void factorTilesOnCuda(const Context& context, double* matrix, std::size_t count, double added,
                       double* inverses, int* failed)
{
  const cudaStream_t stream = cudaStreamOf(context);
  constexpr int bytes = 2 * tile * padded * sizeof(double);
  checkCuda(cudaFuncSetAttribute(factorTile, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "Cholesky factor");
  Buffer<double> negligible(context, 1);
  addToDiagonal<<<1, choleskyThreads, 0, stream>>>(matrix, count, added, negligible.span().data());
  checkLaunch("Cholesky factor");
  const std::size_t tiles = ceilDiv(count, choleskyTile);
  for (std::size_t step = 0; step < tiles; ++step) {
    const std::size_t first = step * choleskyTile;
    double* const inverse = inverses + step * choleskyTile * choleskyTile;
    factorTile<<<1, choleskyThreads, bytes, stream>>>(matrix, count, first, negligible.span().data(), inverse,
                                                      failed);
    checkLaunch("Cholesky factor");
    const auto below = static_cast<unsigned>(tiles - step - 1);
    if (below == 0)
      break;
    solvePanel<<<below, choleskyThreads, 0, stream>>>(matrix, count, first, inverse);
    subtractProducts<<<dim3(below, below), choleskyThreads, 0, stream>>>(matrix, count, first);
    checkLaunch("Cholesky factor");
  }
}

void solveTilesOnCuda(const Context& context, const double* factor, const double* inverses, std::size_t count,
                      bool isTransposed, double* right, std::size_t rightHandSides, double* solution)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const std::size_t tiles = ceilDiv(count, choleskyTile);
  const auto chunks = static_cast<unsigned>(ceilDiv(rightHandSides, std::size_t{atOnce}));
  for (std::size_t i = 0; i < tiles; ++i) {
    const std::size_t step = isTransposed ? tiles - 1 - i : i;
    const dim3 blocks(static_cast<unsigned>(tiles - i), chunks);
    if (isTransposed)
      solveStep<true><<<blocks, choleskyThreads, 0, stream>>>(factor, inverses, count, step, right,
                                                              rightHandSides, solution);
    else
      solveStep<false><<<blocks, choleskyThreads, 0, stream>>>(factor, inverses, count, step, right,
                                                               rightHandSides, solution);
    checkLaunch("solution by a Cholesky factor");
  }
}

}
