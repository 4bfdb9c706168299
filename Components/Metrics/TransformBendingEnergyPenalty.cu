#include "Components/Metrics/Shared/BendingEnergyKernels.h"

#include "Components/Transforms/Shared/OnCuda/ChainJet.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Compute/Cuda/RegisterArray.cuh"
#include "Core/Registration/Samples/FixedPointSums.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int threadsOfMany = 128;

/// Writes the covectors of one sample into their arrays. Returns the bits of their largest absolute value;
/// the bits of positive doubles are in the order of the numbers.
template <int D>
__device__ unsigned long long writeCovectors(const TransformOnCuda<D>& last, bool throughJacobian,
                                             const Jet<D>& jet, const Jet<D>& before, std::size_t count,
                                             double* to)
{
  constexpr int entries = D + symmetricCount(D);
  double axes[D][D], ofJacobian[D][D] = {};
  gridAxes<D>(last, axes);
  if (throughJacobian)
    bendingCovectorOfJacobian<D>(jet, before, ofJacobian);
  double most = 0;
  bool isNumber = true;
#pragma unroll
  for (int d = 0; d < D; ++d)
    to[d * count] = before.pointMm[d];
#pragma unroll
  for (int k = 0; k < D; ++k) {
    double covector[entries];
    bendingCovectorOfIndex<D>(jet, before, axes, ofJacobian, k, covector);
#pragma unroll
    for (int e = 0; e < entries; ++e) {
      to[(D + k * entries + e) * count] = covector[e];
      most = fmax(most, fabs(covector[e]));
      isNumber = isNumber && !isnan(covector[e]);
    }
  }
  return __double_as_longlong(isNumber ? most : INFINITY);
}

/// Energy and covectors, one sample a thread. For each sample x (Rueckert et al. 1999, eq. 4, over samples):
///
///   J, H = first and second derivatives of T at x, by the chain rule over all transforms
///   energy += sum_k sum_ab H_k[ab]^2
///   covectors: derivatives of that sum by the last transform's J1 and H1, from H = H1(J0, J0) + J1 H0
template <int D, BendingGradient Gradient>
__global__ void __launch_bounds__(threadsOfMany)
    bend(const __grid_constant__ SamplesOnCuda<D> samples, const SampleChunk chunk,
         const __grid_constant__ ChainOnCuda<D> chain, const __grid_constant__ MaskOnCuda<D> movingMask,
         const bool throughJacobian, double* scratch, double* covectors, BendingSums<D>* result)
{
  constexpr int sums = Gradient == BendingGradient::ofLinear ? 3 + D * D : 3;
  double sum[sums] = {};
  unsigned long long largest = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < chunk.count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const SampleOnCuda<D> sample = sampleAt(samples, chunk.first + i);
    bool counts = sample.asked;
    Jet<D> jet, before;
    if (counts) {
      jetOfChain<D>(chain, sample.pointMm, jet, before);
      Vec<D> mappedMm;
#pragma unroll
      for (int d = 0; d < D; ++d)
        mappedMm[d] = jet.pointMm[d];
      counts = movingMask.contains(mappedMm);
      sum[2] += 1;
    }
    if (counts) {
      sum[0] += bendingEnergy<D>(jet);
      sum[1] += 1;
    }
    if constexpr (Gradient == BendingGradient::ofLinear) {
      if (counts) {
        double ofJacobian[D][D];
        bendingCovectorOfJacobian<D>(jet, before, ofJacobian);
#pragma unroll
        for (int k = 0; k < D * D; ++k)
          sum[3 + k] += ofJacobian[k / D][k % D];
      }
    } else if constexpr (Gradient == BendingGradient::byCovectors) {
      if (counts)
        largest = max(largest, writeCovectors<D>(chain.links[chain.count - 1], throughJacobian, jet, before,
                                                 chunk.count, covectors + i));
      else
#pragma unroll
        for (int d = 0; d < D; ++d)
          covectors[d * chunk.count + i] = NAN;
    }
  }
  if constexpr (Gradient == BendingGradient::byCovectors) {
    for (int offset = 16; offset > 0; offset /= 2)
      largest = max(largest, __shfl_down_sync(~0u, largest, offset));
    if (threadIdx.x % 32 == 0 && largest > 0)
      atomicMax(&result->largest, largest);
  }
  addGridSums(sum, scratch, &result->blocksDone, result->sums);
}

/// An upper bound of the absolute values of a chunk's sums. A first derivative of a B-spline weight by the
/// index is at most 1 in absolute value, a second derivative at most 2.
template <int D>
struct BendingBound {
  const BendingSums<D>* result;
  std::size_t count;

  __device__ double maxSum() const
  {
    constexpr double perSample = 2 * (D + symmetricCount(D));
    return perSample * __longlong_as_double(static_cast<long long>(result->largest))
           * static_cast<double>(count);
  }
};

/// The sums at the control points of one support. Each lane has one control point, or two if there are 64.
template <int D, int Order>
struct LaneSums {
  static constexpr int taps = Order + 1, points = D == 3 ? taps * taps * taps : taps * taps,
                       slots = (points + 31) / 32;
  long long sum[slots][D] = {};
  int at[slots] = {};

  static __device__ int tap(int point, int axis)
  {
    return axis == 0 ? point % taps : axis == D - 1 ? point / (points / taps) : point / taps % taps;
  }

  __device__ void moveTo(const SupportOnCuda<D, Order>& support, int lane)
  {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const int point = lane + 32 * slot, slice = fromRegisters(support.slices, tap(point, D - 1));
      at[slot] = support.first + slice + tap(point, 0) + (D == 3 ? tap(point, 1) * support.rowStride : 0);
    }
  }

  __device__ void add(const JetWeights<D, Order>& w, const double (&covectors)[D][D + symmetricCount(D)],
                      int lane)
  {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
      const int point = lane + 32 * slot;
      double value[D], first[D], second[D], weights[D + symmetricCount(D)];
#pragma unroll
      for (int d = 0; d < D; ++d) {
        value[d] = fromRegisters(w.value[d], tap(point, d));
        first[d] = fromRegisters(w.first[d], tap(point, d));
        second[d] = fromRegisters(w.second[d], tap(point, d));
      }
      derivativeWeights<D>(value, first, second, weights);
#pragma unroll
      for (int k = 0; k < D; ++k) {
        double product = 0;
#pragma unroll
        for (int e = 0; e < D + symmetricCount(D); ++e)
          product = fma(covectors[k][e], weights[e], product);
        sum[slot][k] += __double2ll_rn(product);
      }
    }
  }

  __device__ void flush(int pointCount, int components, int lane, unsigned long long* sums)
  {
#pragma unroll
    for (int slot = 0; slot < slots; ++slot) {
#pragma unroll
      for (int k = 0; k < D; ++k) {
        if (lane + 32 * slot < points && k < components && sum[slot][k] != 0)
          atomicAdd(sums + k * static_cast<std::size_t>(pointCount) + at[slot],
                    static_cast<unsigned long long>(sum[slot][k]));
        sum[slot][k] = 0;
      }
    }
  }
};

/// The adjoint of the second derivatives of a B-spline: for each sample x, each control point p of its
/// support and each component k
///
///   gradient[k][p] += sum_e covector[k][e] * (derivative e of the weight of p at x)
///
/// A warp takes `run` samples, one after the other, and its lanes share the control points. Neighbouring
/// samples of a lattice mostly have the same support, so the sums leave the registers only when it changes.
/// It reads 240 bytes a sample (3D) and adds (order + 1)^D D integers for each support.
template <int D, int Order>
__global__ void __launch_bounds__(threadsOfMany)
    scatter(const __grid_constant__ TransformOnCuda<D> transform, const std::size_t count, const int run,
            const bool throughJacobian, const double* covectors, const BendingBound<D> bound,
            unsigned long long* sums)
{
  constexpr int entries = D + symmetricCount(D);
  const std::size_t warp = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  const std::size_t end = min((warp + 1) * run, count);
  const int lane = threadIdx.x % 32, pointCount = transform.pointCount(), components = transform.components();
  const double scale = scalbn(1.0, fixedPointExponent(bound.maxSum()));
  LaneSums<D, Order> own;
  int row = -1, slice = -1;
  for (std::size_t i = warp * run; i < end; ++i) {
    Vec<D> pointMm;
#pragma unroll
    for (int d = 0; d < D; ++d)
      pointMm[d] = covectors[d * count + i];
    SupportOnCuda<D, Order> support;
    if (!support.find(transform, pointMm))
      continue;
    if (support.first != row || support.slices[0] != slice) {
      own.flush(pointCount, components, lane, sums);
      own.moveTo(support, lane);
      row = support.first;
      slice = support.slices[0];
    }
    double covector[D][entries];
#pragma unroll
    for (int k = 0; k < D; ++k) {
#pragma unroll
      for (int e = 0; e < entries; ++e)
        covector[k][e] = e < D && !throughJacobian ? 0 : covectors[(D + k * entries + e) * count + i] * scale;
    }
    own.add(JetWeights<D, Order>(support), covector, lane);
  }
  own.flush(pointCount, components, lane, sums);
}

}

template <int D>
void bendingEnergyOnCuda(Context& context, const SamplesOnCuda<D>& samples, const SampleChunk& chunk,
                         const ChainOnCuda<D>& chain, const MaskOnCuda<D>& movingMask,
                         BendingGradient gradient, double* scratch, double* covectors, BendingSums<D>* result)
{
  if (chunk.count == 0)
    return;
  const int threads =
      chunk.count <= 16384 ? 32 : threadsOfMany; // small blocks reach more multiprocessors if samples are few
  const std::size_t maxBlocks = maxBendingWarps / (threads / 32);
  const auto blocks = static_cast<unsigned>(std::min(ceilDiv<std::size_t>(chunk.count, threads), maxBlocks));
  const auto kernel = gradient == BendingGradient::none       ? bend<D, BendingGradient::none>
                      : gradient == BendingGradient::ofLinear ? bend<D, BendingGradient::ofLinear>
                                                              : bend<D, BendingGradient::byCovectors>;
  kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, chunk, chain, movingMask, bendsBefore(chain),
                                                        scratch, covectors, result);
  checkLaunch("bending energy");
}

template <int D>
void pullBackBendingOnCuda(Context& context, const SampleChunk& chunk, const ChainOnCuda<D>& chain,
                           const double* covectors, const BendingSums<D>* result, bool overwrites,
                           bool isLast, unsigned long long* sums, double* gradient)
{
  const TransformOnCuda<D>& transform = chain.links[chain.count - 1];
  const BendingBound<D> bound{result, chunk.count};
  const cudaStream_t stream = cudaStreamOf(context);
  if (chunk.count > 0) {
    constexpr int threads = threadsOfMany;
    // Shorter runs if there would be too few warps otherwise.
    const int run = static_cast<int>(std::clamp<std::size_t>(chunk.count / 16384, 1, 32));
    const auto blocks =
        static_cast<unsigned>(ceilDiv<std::size_t>(ceilDiv<std::size_t>(chunk.count, run), threads / 32));
    const auto kernel = transform.order == 3   ? scatter<D, 3>
                        : transform.order == 2 ? scatter<D, 2>
                                               : scatter<D, 1>;
    kernel<<<blocks, threads, 0, stream>>>(transform, chunk.count, run, bendsBefore<D>(chain), covectors,
                                           bound, sums);
    checkLaunch("pull-back of the bending energy");
  }
  addFixedPointSums(stream, static_cast<std::size_t>(D) * transform.pointCount(), bound,
                    {overwrites, isLast ? result->valid() : nullptr}, sums, gradient);
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void bendingEnergyOnCuda<D>(Context&, const SamplesOnCuda<D>&, const SampleChunk&,                \
                                       const ChainOnCuda<D>&, const MaskOnCuda<D>&, BendingGradient,         \
                                       double*, double*, BendingSums<D>*);                                   \
  template void pullBackBendingOnCuda<D>(Context&, const SampleChunk&, const ChainOnCuda<D>&, const double*, \
                                         const BendingSums<D>*, bool, bool, unsigned long long*, double*);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
