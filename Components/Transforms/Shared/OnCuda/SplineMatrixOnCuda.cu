#include "Components/Transforms/Shared/OnCuda/SplineMatrixOnCuda.h"

#include "Components/Transforms/Shared/LandmarkSplines/KernelMatrix.h"
#include "Core/Compute/Cuda/Reduction.cuh"

namespace tessera {
namespace {

constexpr int matrixThreads = 256;

template <int D, SplineKernel Kernel>
__global__ void __launch_bounds__(matrixThreads)
    pairsOf(const double* landmarksMm, const double* scales, const Matrix<D>* matrices, const int count,
            const int block, const double alpha, double* matrix)
{
  const int j = blockIdx.x * matrixThreads + threadIdx.x, i = blockIdx.y;
  if (j >= count)
    return;
  Vec<D> x;
#pragma unroll
  for (int d = 0; d < D; ++d)
    x[d] = landmarksMm[i * D + d] - landmarksMm[j * D + d];
  Matrix<D> g = kernelMatrix<D, Kernel>(x, alpha);
  if (matrices != nullptr)
    g = betweenRows<D>(matrices[i], g, matrices[j]);
  const double scale = i == j ? 0 : scales == nullptr ? 1 : scales[i] * scales[j];
  const std::size_t rows = static_cast<std::size_t>(count) * block;
#pragma unroll
  for (int a = 0; a < D; ++a)
#pragma unroll
    for (int b = 0; b < D; ++b)
      if (a < block && b < block)
        matrix[(static_cast<std::size_t>(i) * block + a) * rows + static_cast<std::size_t>(j) * block + b] =
            scale * g[a][b];
}

/// A warp multiplies a row by one vector.
__global__ void __launch_bounds__(matrixThreads)
    multiplyRow(const double* matrix, const std::size_t rows, const double* factors, double* products)
{
  const std::size_t row = (static_cast<std::size_t>(blockIdx.x) * matrixThreads + threadIdx.x) / 32;
  if (row >= rows)
    return;
  const double* const vector = factors + blockIdx.y * rows;
  double sum = 0;
  for (std::size_t i = threadIdx.x % 32; i < rows; i += 32)
    sum = fma(matrix[row * rows + i], vector[i], sum);
  sum = warpSum(sum);
  if (threadIdx.x % 32 == 0)
    products[blockIdx.y * rows + row] = sum;
}

__global__ void __launch_bounds__(matrixThreads)
    project(const double* kernel, const std::size_t rows, const double* v, const double* y,
            const std::size_t unknowns, const double sign, double* border, double* matrix)
{
  const std::size_t j = static_cast<std::size_t>(blockIdx.x) * matrixThreads + threadIdx.x,
                    i = unknowns + blockIdx.y;
  if (j > i)
    return;
  double value = kernel[i * rows + j];
  for (std::size_t c = 0; c < unknowns; ++c) {
    value = fma(-v[c * rows + i], y[c * rows + j], value);
    value = fma(-y[c * rows + i], v[c * rows + j], value);
  }
  if (j < unknowns)
    border[(i - unknowns) * unknowns + j] = value;
  else
    matrix[(i - unknowns) * (rows - unknowns) + j - unknowns] = sign * value;
}

__global__ void __launch_bounds__(matrixThreads)
    diagonalOf(const double* matrix, const std::size_t rows, double* diagonal)
{
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * matrixThreads + threadIdx.x;
  if (i < rows)
    diagonal[i] = matrix[i * rows + i];
}

unsigned matrixBlocks(std::size_t items)
{
  return static_cast<unsigned>(ceilDiv(items, std::size_t{matrixThreads}));
}

}

template <int D>
void splineMatrixOnCuda(const Context& context, SplineKernel kernel, double alpha, const double* landmarksMm,
                        const double* scales, const Matrix<D>* matrices, std::size_t count, std::size_t block,
                        double* matrix)
{
  withKernel<D>(kernel, [&](auto constant) {
    pairsOf<D, decltype(constant)::value><<<dim3(matrixBlocks(count), static_cast<unsigned>(count)),
                                            matrixThreads, 0, cudaStreamOf(context)>>>(
        landmarksMm, scales, matrices, static_cast<int>(count), static_cast<int>(block), alpha, matrix);
  });
  checkLaunch("matrix of a spline");
}

void multiplyVectorsOnCuda(const Context& context, const double* matrix, std::size_t rows,
                           const double* factors, std::size_t vectors, double* products)
{
  multiplyRow<<<dim3(matrixBlocks(32 * rows), static_cast<unsigned>(vectors)), matrixThreads, 0,
                cudaStreamOf(context)>>>(matrix, rows, factors, products);
  checkLaunch("matrix of a spline");
}

void projectOnCuda(const Context& context, const double* kernel, std::size_t rows, const double* v,
                   const double* y, std::size_t unknowns, double sign, double* border, double* matrix)
{
  if (rows == unknowns)
    return;
  project<<<dim3(matrixBlocks(rows), static_cast<unsigned>(rows - unknowns)), matrixThreads, 0,
            cudaStreamOf(context)>>>(kernel, rows, v, y, unknowns, sign, border, matrix);
  checkLaunch("matrix of a spline");
}

void copyDiagonalOnCuda(const Context& context, const double* matrix, std::size_t rows, double* diagonal)
{
  if (rows == 0)
    return;
  diagonalOf<<<matrixBlocks(rows), matrixThreads, 0, cudaStreamOf(context)>>>(matrix, rows, diagonal);
  checkLaunch("matrix of a spline");
}

TESSERA_INSTANTIATE_FUNCTIONS(splineMatrixOnCuda<D>);

}
