#include "Components/Transforms/Shared/OnCuda/ChainJet.h"
#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"
#include "Core/Compute/Cuda/Reduction.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threadsOfRows = 128;

/// sum of term(i), i < count, by the lanes of a warp: each sums its own i in order, then halves of the warp
/// are added.
template <class Term>
__device__ double warpDot(int count, Term&& term)
{
  double sum = 0;
  for (int i = threadIdx.x % 32; i < count; i += 32)
    sum += term(i);
  return warpSum(sum);
}

/// Each warp computes one number of the vectors.
template <int D>
__global__ void __launch_bounds__(threadsOfRows)
    vectorsOf(const __grid_constant__ TransformOnCuda<D> spline, const double* parameters, double* vectors)
{
  const int entry = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  const int rightHandSides = D / spline.block, columns = spline.landmarks * spline.block;
  if (entry >= (spline.landmarks + D + 1) * D)
    return;
  const int row = entry / rightHandSides, component = entry % rightHandSides;
  const double* influence = spline.influence + static_cast<std::size_t>(row) * columns;
  const double sum = warpDot(columns, [&](int c) {
    return influence[c]
           * (parameters[c * rightHandSides + component]
              - spline.landmarksMm[c * rightHandSides + component]);
  });
  const int ofAffine = entry - spline.landmarks * D; // the columns of I have a 1 at every (D + 1)-th number
  if (threadIdx.x % 32 == 0)
    vectors[entry] = sum + (ofAffine >= 0 && ofAffine < D * D && ofAffine % (D + 1) == 0 ? 1 : 0);
}

/// The contribution of one sample to the sums of a row, for covectors v of T(x).
template <int D>
struct OfPoints {
  static constexpr int values = D;

  template <SplineKernel Kernel>
  __device__ void addToLandmark(const Vec<D>& x, double alpha, const double* v, int step, Vec<D>& sum) const
  {
    Vec<D> covector;
#pragma unroll
    for (int k = 0; k < D; ++k)
      covector[k] = v[k * step];
    addKernel<D, Kernel>(x, covector, alpha, sum);
  }
  __device__ void addToAffine(const Vec<D>& pointMm, int column, const double* v, int step, Vec<D>& sum) const
  {
    double factor = 1;
#pragma unroll
    for (int d = 0; d < D; ++d)
      factor = d == column ? pointMm[d] : factor;
#pragma unroll
    for (int k = 0; k < D; ++k)
      sum[k] += factor * v[k * step];
  }
};

/// The same for covectors of the first and second derivatives of T.
template <int D, bool ThroughHessian>
struct OfDerivatives {
  static constexpr int perComponent = ThroughHessian ? D + symmetricCount(D) : D, values = D * perComponent;
  bool throughJacobian;

  template <SplineKernel Kernel>
  __device__ void addToLandmark(const Vec<D>& x, double alpha, const double* v, int step, Vec<D>& sum) const
  {
#pragma unroll
    for (int m = 0; m < D; ++m) {
      Vec<D> unit{};
      unit[m] = 1;
      double jacobian[D][D] = {}, hessian[D][symmetricCount(D)] = {};
      addKernelDerivatives<D, Kernel>(x, unit, alpha, jacobian, hessian);
#pragma unroll
      for (int k = 0; k < D; ++k) {
        const double* ofComponent = v + k * perComponent * step;
        if (throughJacobian)
#pragma unroll
          for (int j = 0; j < D; ++j)
            sum[m] += ofComponent[j * step] * jacobian[k][j];
        if constexpr (ThroughHessian)
#pragma unroll
          for (int s = 0; s < symmetricCount(D); ++s)
            sum[m] += ofComponent[(D + s) * step] * hessian[k][s];
      }
    }
  }
  __device__ void addToAffine(const Vec<D>&, int column, const double* v, int step, Vec<D>& sum) const
  {
    if (!throughJacobian || column == D)
      return;
#pragma unroll
    for (int k = 0; k < D; ++k)
      sum[k] += v[(k * perComponent + column) * step];
  }
};

constexpr int rowsOfSlab = 32, samplesSideBySide = 4, tileSamples = 32;

/// The samples of a slab for the lanes of all rows: values[array][sample].
template <int D, class Sample>
struct Tile {
  double point[D][tileSamples];
  double values[Sample::values][tileSamples];
};

/// A block computes 32 rows, one a lane; its 4 warps share the samples of a slab. `partials` is (slabs) x
/// (rows) x D.
template <int D, class Sample>
__global__ void __launch_bounds__(rowsOfSlab* samplesSideBySide)
    sumSlab(const __grid_constant__ TransformOnCuda<D> spline, const Sample of, const std::size_t count,
            const std::size_t perSlab, const double* points, const double* covectors, double* partials)
{
  __shared__ Tile<D, Sample> tile;
  __shared__ double ofWarps[samplesSideBySide][D][rowsOfSlab];
  const int row = blockIdx.x * rowsOfSlab + threadIdx.x, rows = spline.landmarks + D + 1;
  const int thread = threadIdx.y * rowsOfSlab + threadIdx.x;
  const SplineOfLandmarks<D> landmarks = spline.kernelSpline();
  const Vec<D> landmarkMm = row < spline.landmarks ? landmarks.landmarkMm(row) : Vec<D>{};
  Vec<D> sum{};
  const std::size_t first = blockIdx.y * perSlab, end = min(first + perSlab, count);
  for (std::size_t from = first; from < end; from += tileSamples) {
    const int samples = static_cast<int>(min(end - from, static_cast<std::size_t>(tileSamples)));
    __syncthreads();
    for (int i = thread; i < (D + Sample::values) * tileSamples; i += rowsOfSlab * samplesSideBySide) {
      const int array = i / tileSamples, sample = i % tileSamples;
      if (sample >= samples)
        continue;
      if (array < D)
        tile.point[array][sample] = points[array * count + from + sample];
      else
        tile.values[array - D][sample] = covectors[(array - D) * count + from + sample];
    }
    __syncthreads();
    withKernel<D>(spline.kernel, [&](auto kernel) {
      for (int sample = threadIdx.y; sample < samples; sample += samplesSideBySide) {
        Vec<D> pointMm;
#pragma unroll
        for (int d = 0; d < D; ++d)
          pointMm[d] = tile.point[d][sample];
        if (isnan(pointMm[0]))
          continue;
        const double* values = &tile.values[0][sample];
        if (row < spline.landmarks)
          of.template addToLandmark<decltype(kernel)::value>(minus(pointMm, landmarkMm), spline.alpha, values,
                                                             tileSamples, sum);
        else if (row < rows)
          of.addToAffine(pointMm, row - spline.landmarks, values, tileSamples, sum);
      }
    });
  }
#pragma unroll
  for (int k = 0; k < D; ++k)
    ofWarps[threadIdx.y][k][threadIdx.x] = sum[k];
  __syncthreads();
  if (threadIdx.y != 0 || row >= rows)
    return;
#pragma unroll
  for (int k = 0; k < D; ++k) {
    double total = 0;
#pragma unroll
    for (int warp = 0; warp < samplesSideBySide; ++warp)
      total += ofWarps[warp][k][threadIdx.x];
    partials[(blockIdx.y * static_cast<std::size_t>(rows) + row) * D + k] = total;
  }
}

/// Each warp computes one number of the sums.
__global__ void __launch_bounds__(threadsOfRows)
    addSlabs(int slabs, int numbers, bool overwrites, const double* partials, double* sums)
{
  const int number = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (number >= numbers)
    return;
  const double sum =
      warpDot(slabs, [&](int slab) { return partials[static_cast<std::size_t>(slab) * numbers + number]; });
  if (threadIdx.x % 32 == 0)
    sums[number] = overwrites ? sum : sums[number] + sum;
}

/// Each warp computes the gradient of one parameter.
template <int D>
__global__ void __launch_bounds__(threadsOfRows)
    gradientOf(const __grid_constant__ TransformOnCuda<D> spline, const double* sums,
               const GradientUpdate update, double* gradient)
{
  const int parameter = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (parameter >= spline.landmarks * D)
    return;
  const int rightHandSides = D / spline.block, rows = (spline.landmarks + D + 1) * spline.block;
  const double* influence =
      spline.influenceTransposed + static_cast<std::size_t>(parameter / rightHandSides) * rows;
  const double sum = warpDot(rows, [&](int row) {
    return influence[row] * sums[row * rightHandSides + parameter % rightHandSides];
  });
  if (threadIdx.x % 32 != 0)
    return;
  const double factor = update.divisor == nullptr ? 1 : *update.divisor == 0 ? 0 : 1 / *update.divisor;
  gradient[parameter] = ((update.overwrites ? 0 : gradient[parameter]) + sum) * factor;
}

unsigned blocksOfWarps(int warps)
{
  return static_cast<unsigned>(ceilDiv(warps * 32, threadsOfRows));
}

template <int D, class Sample>
void sumSamples(Context& context, const TransformOnCuda<D>& spline, const Sample& of, std::size_t count,
                const double* points, const double* covectors, double* scratch, double* sums, bool overwrites)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const int rows = spline.landmarks + D + 1;
  const std::size_t perSlab = std::max<std::size_t>(ceilDiv(count, maxSplineSlabs), 4 * samplesSideBySide);
  const int slabs = static_cast<int>(ceilDiv(count, perSlab));
  if (slabs > 0) {
    sumSlab<D><<<dim3(ceilDiv(rows, rowsOfSlab), slabs), dim3(rowsOfSlab, samplesSideBySide), 0, stream>>>(
        spline, of, count, perSlab, points, covectors, scratch);
    checkLaunch("sums over a spline's landmarks");
  }
  addSlabs<<<blocksOfWarps(rows * D), threadsOfRows, 0, stream>>>(slabs, rows * D, overwrites, scratch, sums);
  checkLaunch("sums over a spline's landmarks");
}

}

template <int D>
void splineVectorsOnCuda(const Context& context, const TransformOnCuda<D>& spline, const double* parameters,
                         double* vectors)
{
  vectorsOf<D><<<blocksOfWarps((spline.landmarks + D + 1) * D), threadsOfRows, 0, cudaStreamOf(context)>>>(
      spline, parameters, vectors);
  checkLaunch("weights of a spline");
}

template <int D>
void sumSplineCovectorsOnCuda(Context& context, const TransformOnCuda<D>& spline, std::size_t count,
                              const double* points, const double* covectors, double* scratch, double* sums,
                              bool overwrites)
{
  sumSamples<D>(context, spline, OfPoints<D>{}, count, points, covectors, scratch, sums, overwrites);
}

template <int D>
void sumSplineDerivativeCovectorsOnCuda(Context& context, const TransformOnCuda<D>& spline, std::size_t count,
                                        const double* points, const double* covectors, bool throughHessian,
                                        bool throughJacobian, double* scratch, double* sums, bool overwrites)
{
  if (throughHessian)
    sumSamples<D>(context, spline, OfDerivatives<D, true>{throughJacobian}, count, points, covectors, scratch,
                  sums, overwrites);
  else
    sumSamples<D>(context, spline, OfDerivatives<D, false>{throughJacobian}, count, points, covectors,
                  scratch, sums, overwrites);
}

template <int D>
void splineGradientOnCuda(Context& context, const TransformOnCuda<D>& spline, const double* sums,
                          double* gradient, const GradientUpdate& update)
{
  gradientOf<D><<<blocksOfWarps(spline.landmarks * D), threadsOfRows, 0, cudaStreamOf(context)>>>(
      spline, sums, update, gradient);
  checkLaunch("gradient of a spline");
}

TESSERA_INSTANTIATE_FUNCTIONS(splineVectorsOnCuda<D>, sumSplineCovectorsOnCuda<D>,
                              sumSplineDerivativeCovectorsOnCuda<D>, splineGradientOnCuda<D>);

}
