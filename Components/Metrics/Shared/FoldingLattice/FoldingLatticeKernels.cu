#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeKernels.h"

#include "Components/Transforms/Shared/OnCuda/ChainJet.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 128, taps = 4;

/// The weights of a voxel along one axis, and their derivatives by the grid's index.
struct VoxelWeights {
  int start;
  double weights[taps], slopes[taps];

  __device__ VoxelWeights(const FieldAxis& axis, int voxel)
  {
    const AxisSupport support = supportOf(axis, voxel, 3);
    start = support.start;
    axisWeights<3, double>(support, weights);
    axisDerivatives<3, double>(support, slopes);
  }
  /// The weight of control point `point`, which must be in the support, and its derivative.
  __device__ double weightOf(int point) const { return at(weights, point - start); }
  __device__ double slopeOf(int point) const { return at(slopes, point - start); }

private:
  static __device__ double at(const double (&w)[taps], int k)
  {
    return k == 0 ? w[0] : k == 1 ? w[1] : k == 2 ? w[2] : w[3];
  }
};

/// A voxel before all those in whose support a control point lies.
__device__ int voxelBefore(const FieldAxis& axis, int point)
{
  const double voxel = floor((point - 3 + 1 - axis.first) / axis.step) - 1; // supports begin at x - 1
  return voxel > 0 ? static_cast<int>(fmin(voxel, axis.voxels - 1.0)) : 0;
}

template <int D>
__global__ void __launch_bounds__(threads) sumPlanes(const __grid_constant__ FoldingLatticeOnDevice<D> of,
                                                     const __grid_constant__ FoldingChunk<D> chunk)
{
  const int planePoints = of.planePoints(), point = blockIdx.x * threads + threadIdx.x, slice = blockIdx.y;
  if (point >= planePoints)
    return;
  const FieldAxis& axis = of.axes[D - 1];
  const VoxelWeights w(axis, chunk.first + slice);
#pragma unroll
  for (int c = 0; c < D; ++c) {
    const double* const from =
        of.coefficients + (static_cast<std::size_t>(c) * axis.points + w.start) * planePoints + point;
    double sum0 = 0, sum1 = 0;
#pragma unroll
    for (int k = 0; k < taps; ++k) {
      const double coefficient = loadConstant(from + static_cast<std::size_t>(k) * planePoints);
      sum0 = fma(w.weights[k], coefficient, sum0);
      sum1 = fma(w.slopes[k], coefficient, sum1);
    }
    double* const to = chunk.planes + static_cast<std::size_t>(slice * D + c) * 2 * planePoints + point;
    to[0] = sum0;
    to[planePoints] = sum1;
  }
}

/// 3D only.
template <int D>
__global__ void __launch_bounds__(threads) sumLines(const __grid_constant__ FoldingLatticeOnDevice<D> of,
                                                    const __grid_constant__ FoldingChunk<D> chunk)
{
  const int linePoints = of.linePoints(), planePoints = of.planePoints(), row = blockIdx.y,
            slice = blockIdx.z, point = blockIdx.x * threads + threadIdx.x;
  if (point >= linePoints)
    return;
  const VoxelWeights w(of.axes[1], row);
#pragma unroll
  for (int c = 0; c < D; ++c) {
    const double* const from = chunk.planes + static_cast<std::size_t>(slice * D + c) * 2 * planePoints
                               + w.start * linePoints + point;
    double sum[3] = {};
#pragma unroll
    for (int k = 0; k < taps; ++k) {
      const double p0 = from[k * linePoints], p1 = from[planePoints + k * linePoints];
      sum[0] = fma(w.weights[k], p0, sum[0]);
      sum[1] = fma(w.slopes[k], p0, sum[1]);
      sum[2] = fma(w.weights[k], p1, sum[2]);
    }
    double* const to =
        chunk.lines + ((static_cast<std::size_t>(slice) * of.rows() + row) * D + c) * 3 * linePoints + point;
#pragma unroll
    for (int e = 0; e < 3; ++e)
      to[e * linePoints] = sum[e];
  }
}

/// Each voxel of a segment of a row leaves its covectors and weights here for the control points.
template <int D>
struct SegmentOfRow {
  double covectors[D * D][threads], weights[taps][threads], slopes[taps][threads];
  int starts[threads];
};

/// The penalty of each voxel of a row, one a thread, segment by segment. With a gradient the lines are
/// overwritten by those of the adjoint: each thread takes control points and adds the segment's voxels in
/// their order.
template <int D, bool WithGradient>
__global__ void __launch_bounds__(threads)
    sumVoxels(const __grid_constant__ FoldingLatticeOnDevice<D> of,
              const __grid_constant__ FoldingChunk<D> chunk, double* scratch, JetSums<D>* result)
{
  extern __shared__ double spread[]; // D * D lines
  __shared__ SegmentOfRow<D> segment;
  const int linePoints = of.linePoints(), rows = of.rows() * chunk.count, tid = threadIdx.x;
  const FieldAxis& axis = of.axes[0];
  double sums[3] = {};
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    double* const lines = chunk.lines + static_cast<std::size_t>(row) * D * D * linePoints;
    const std::size_t firstVoxel = (static_cast<std::size_t>(chunk.first) * of.rows() + row) * axis.voxels;
    if constexpr (WithGradient) {
      for (int i = tid; i < D * D * linePoints; i += threads)
        spread[i] = 0;
      __syncthreads();
    }
    for (int begin = 0; begin < axis.voxels; begin += threads) {
      const int voxel = begin + tid, count = min(threads, axis.voxels - begin);
      const bool counts =
          tid < count && (of.asked == nullptr || loadConstant(of.asked + firstVoxel + voxel) != 0);
      if (!__syncthreads_or(counts))
        continue;
      double covector[D][D] = {};
      const VoxelWeights w(axis, tid < count ? voxel : axis.voxels - 1);
      if (counts) {
        FoldingAtVoxel<D> folding = of.folding;
        double g[D][D];
#pragma unroll
        for (int c = 0; c < D; ++c) {
#pragma unroll
          for (int e = 0; e < D; ++e) {
            const double* const line = lines + (c * D + e) * linePoints + w.start;
            double sum = 0;
#pragma unroll
            for (int k = 0; k < taps; ++k)
              sum = fma(e == 0 ? w.slopes[k] : w.weights[k], line[k], sum);
            g[c][e] = sum;
            if (of.before)
              folding.before[c][e] = loadConstant(of.before + (c * D + e) * of.voxels + firstVoxel + voxel);
          }
        }
        sums[0] += folding.penalty(g, covector);
        sums[1] += 1;
        sums[2] += 1;
      }
      if constexpr (WithGradient) {
        segment.starts[tid] = w.start;
#pragma unroll
        for (int k = 0; k < taps; ++k) {
          segment.weights[k][tid] = w.weights[k];
          segment.slopes[k][tid] = w.slopes[k];
        }
#pragma unroll
        for (int e = 0; e < D * D; ++e)
          segment.covectors[e][tid] = covector[e / D][e % D];
        __syncthreads();
        const int firstPoint = segment.starts[0], points = segment.starts[count - 1] + taps - firstPoint;
        for (int i = tid; i < points * D * D; i += threads) {
          const int point = firstPoint + i % points, e = i / points;
          double sum = 0;
          for (int v = max(voxelBefore(axis, point) - begin, 0); v < count && segment.starts[v] <= point;
               ++v) {
            const int k = point - segment.starts[v];
            if (k < taps)
              sum = fma(e % D == 0 ? segment.slopes[k][v] : segment.weights[k][v], segment.covectors[e][v],
                        sum);
          }
          spread[e * linePoints + point] += sum;
        }
      }
    }
    if constexpr (WithGradient) {
      __syncthreads();
      for (int i = tid; i < D * D * linePoints; i += threads)
        lines[i] = spread[i];
      __syncthreads();
    }
  }
  addGridSums(sums, scratch, &result->blocksDone, result->sums);
}

/// The adjoint of sumLines.
template <int D>
__global__ void __launch_bounds__(threads) spreadLines(const __grid_constant__ FoldingLatticeOnDevice<D> of,
                                                       const __grid_constant__ FoldingChunk<D> chunk)
{
  const int linePoints = of.linePoints(), planePoints = of.planePoints(), middle = blockIdx.y,
            slice = blockIdx.z, point = blockIdx.x * threads + threadIdx.x;
  if (point >= linePoints)
    return;
  double sum[D][2] = {};
  for (int row = voxelBefore(of.axes[1], middle); row < of.rows(); ++row) {
    const VoxelWeights w(of.axes[1], row);
    if (w.start > middle)
      break;
    if (middle - w.start >= taps)
      continue;
    const double weight = w.weightOf(middle), slope = w.slopeOf(middle);
    const double* const from =
        chunk.lines + (static_cast<std::size_t>(slice) * of.rows() + row) * D * 3 * linePoints + point;
#pragma unroll
    for (int c = 0; c < D; ++c) {
      const double* const line = from + c * 3 * linePoints;
      sum[c][0] = fma(weight, line[0], fma(slope, line[linePoints], sum[c][0]));
      sum[c][1] = fma(weight, line[2 * linePoints], sum[c][1]);
    }
  }
#pragma unroll
  for (int c = 0; c < D; ++c)
#pragma unroll
    for (int s = 0; s < 2; ++s)
      chunk.planes[(static_cast<std::size_t>(slice * D + c) * 2 + s) * planePoints + middle * linePoints
                   + point] = sum[c][s];
}

/// The adjoint of sumPlanes: adds the chunk's slices to the control points from `firstPoint` of the last axis
/// on.
template <int D>
__global__ void __launch_bounds__(threads)
    spreadPlanes(const __grid_constant__ FoldingLatticeOnDevice<D> of,
                 const __grid_constant__ FoldingChunk<D> chunk, const int firstPoint, double* gradient)
{
  const int planePoints = of.planePoints(), last = firstPoint + blockIdx.y,
            point = blockIdx.x * threads + threadIdx.x;
  const FieldAxis& axis = of.axes[D - 1];
  if (point >= planePoints)
    return;
  double sum[D] = {};
  for (int slice = max(voxelBefore(axis, last) - chunk.first, 0); slice < chunk.count; ++slice) {
    const VoxelWeights w(axis, chunk.first + slice);
    if (w.start > last)
      break;
    if (last - w.start >= taps)
      continue;
    const double weight = w.weightOf(last), slope = w.slopeOf(last);
#pragma unroll
    for (int c = 0; c < D; ++c) {
      const double* const from =
          chunk.planes + static_cast<std::size_t>(slice * D + c) * 2 * planePoints + point;
      sum[c] = fma(weight, from[0], fma(slope, from[planePoints], sum[c]));
    }
  }
#pragma unroll
  for (int c = 0; c < D; ++c)
    gradient[(static_cast<std::size_t>(c) * axis.points + last) * planePoints + point] += sum[c];
}

template <int D>
__global__ void __launch_bounds__(threads)
    writeJacobians(const __grid_constant__ SamplesOnCuda<D> samples,
                   const __grid_constant__ ChainOnCuda<D> chain, float* jacobians)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  if (i >= samples.count)
    return;
  Jet<D, 1> jet, before;
  jetOfChain<D>(chain, sampleAt(samples, i).pointMm, jet, before);
#pragma unroll
  for (int e = 0; e < D * D; ++e)
    jacobians[e * samples.count + i] = static_cast<float>(jet.jacobian[e / D][e % D]);
}

template <int D>
__global__ void __launch_bounds__(threads)
    divideByValid(const std::size_t count, const JetSums<D>* result, double* gradient)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  const double valid = *result->valid();
  if (i < count)
    gradient[i] = valid > 0 ? gradient[i] / valid : 0;
}

unsigned blocksFor(std::size_t count)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(count, threads));
}

}

template <int D>
void jacobiansBeforeOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& before,
                           float* jacobians)
{
  writeJacobians<D>
      <<<blocksFor(samples.count), threads, 0, cudaStreamOf(context)>>>(samples, before, jacobians);
  checkLaunch("spatial Jacobians of the transforms before");
}

template <int D>
void foldingOfSlicesOnCuda(Context& context, const FoldingLatticeOnDevice<D>& of,
                           const FoldingChunk<D>& chunk, double* scratch, double* gradient,
                           JetSums<D>* result)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const auto rows = static_cast<unsigned>(of.rows()), slices = static_cast<unsigned>(chunk.count);
  const unsigned planeBlocks = blocksFor(static_cast<std::size_t>(of.planePoints())),
                 lineBlocks = blocksFor(static_cast<std::size_t>(of.linePoints()));
  sumPlanes<D><<<dim3(planeBlocks, slices), threads, 0, stream>>>(of, chunk);
  if constexpr (D == 3)
    sumLines<D><<<dim3(lineBlocks, rows, slices), threads, 0, stream>>>(of, chunk);
  const unsigned blocks = std::min<unsigned>(rows * slices, maxJetWarps / (threads / 32));
  if (gradient) {
    const std::size_t sharedBytes = foldingSharedBytes<D>(of.linePoints());
    checkCuda(cudaFuncSetAttribute(sumVoxels<D, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(sharedBytes)),
              "shared memory of the folding penalty");
    sumVoxels<D, true><<<blocks, threads, sharedBytes, stream>>>(of, chunk, scratch, result);
    if constexpr (D == 3)
      spreadLines<D><<<dim3(lineBlocks, of.axes[1].points, slices), threads, 0, stream>>>(of, chunk);
    const FieldAxis& axis = of.axes[D - 1];
    const int firstPoint = supportOf(axis, chunk.first, 3).start,
              points = supportOf(axis, chunk.first + chunk.count - 1, 3).start + taps - firstPoint;
    spreadPlanes<D><<<dim3(planeBlocks, points), threads, 0, stream>>>(of, chunk, firstPoint, gradient);
  } else {
    sumVoxels<D, false><<<blocks, threads, 0, stream>>>(of, chunk, scratch, result);
  }
  checkLaunch("folding penalty on a lattice");
}

template <int D>
void meanFoldingGradientOnCuda(Context& context, std::size_t count, const JetSums<D>* result,
                               double* gradient)
{
  divideByValid<D><<<blocksFor(count), threads, 0, cudaStreamOf(context)>>>(count, result, gradient);
  checkLaunch("mean of the folding penalty's gradient");
}

TESSERA_INSTANTIATE_FUNCTIONS(jacobiansBeforeOnCuda<D>, foldingOfSlicesOnCuda<D>,
                              meanFoldingGradientOnCuda<D>);

}
