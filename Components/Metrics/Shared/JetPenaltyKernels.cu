#include "Components/Metrics/Shared/JetPenaltyKernels.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Components/Transforms/Shared/OnCuda/ChainJet.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/FixedPointSums.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int threadsOfMany = 128;

/// values[at] for an array in registers. An index that is not constant would put the array into local memory.
template <class Value, int Count>
__device__ __forceinline__ Value fromRegisters(const Value (&values)[Count], int at)
{
  Value value = values[0];
#pragma unroll
  for (int k = 1; k < Count; ++k)
    value = k == at ? values[k] : value;
  return value;
}

/// The numbers of a component's covector: of its first and, if the formula has them, second derivatives.
template <int D, JetFormula Formula>
constexpr int entriesOf = Formula == JetFormula::bendingEnergy ? D + symmetricCount(D) : D;

/// The jets that a formula needs.
template <int D, JetFormula Formula>
using JetOf = Jet<D, Formula == JetFormula::bendingEnergy ? 2 : 1>;

/// A formula at one sample.
template <int D, JetFormula Formula>
struct FormulaAt {
  const JetSettings<D>& settings;
  float fixed = 0, moving = 0; // of tissue volumes

  __device__ double penalty(const JetOf<D, Formula>& jet) const
  {
    if constexpr (Formula == JetFormula::bendingEnergy)
      return bendingEnergy<D>(jet);
    else if constexpr (Formula == JetFormula::folding)
      return foldingPenalty<D>(jet, settings.tolerated);
    else
      return settings.tissue.at(fixed, moving, jet.jacobian).penalty;
  }

  __device__ void covectorOfJacobian(const JetOf<D, Formula>& jet, const JetOf<D, Formula>& before,
                                     double (&covector)[D][D]) const
  {
    if constexpr (Formula == JetFormula::bendingEnergy)
      bendingCovectorOfJacobian<D>(jet, before, covector);
    else if constexpr (Formula == JetFormula::folding)
      foldingCovectorOfJacobian<D>(jet, before, settings.tolerated, covector);
    else
      covectorOfLastJacobian<D>(settings.tissue.at(fixed, moving, jet.jacobian).ofJacobian, before.jacobian,
                                covector);
  }
};

/// Writes the covectors of one sample into their arrays. Returns the bits of their largest absolute value;
/// the bits of positive doubles are in the order of the numbers.
template <int D, JetFormula Formula>
__device__ unsigned long long
writeCovectors(const TransformOnCuda<D>& last, bool throughJacobian, const FormulaAt<D, Formula>& formula,
               const JetOf<D, Formula>& jet, const JetOf<D, Formula>& before, std::size_t count, double* to)
{
  constexpr int entries = entriesOf<D, Formula>;
  double axes[D][D], ofJacobian[D][D] = {};
  gridAxes<D>(last, axes);
  if (throughJacobian)
    formula.covectorOfJacobian(jet, before, ofJacobian);
  double most = 0;
  bool isNumber = true;
#pragma unroll
  for (int d = 0; d < D; ++d)
    to[d * count] = before.pointMm[d];
#pragma unroll
  for (int k = 0; k < D; ++k) {
    double covector[entries];
    if constexpr (Formula == JetFormula::bendingEnergy)
      bendingCovectorOfIndex<D>(jet, before, axes, ofJacobian, k, covector);
    else
      covectorOfIndex<D>(axes, ofJacobian[k], covector);
#pragma unroll
    for (int e = 0; e < entries; ++e) {
      to[(D + k * entries + e) * count] = covector[e];
      most = fmax(most, fabs(covector[e]));
      isNumber = isNumber && !isnan(covector[e]);
    }
  }
  return __double_as_longlong(isNumber ? most : INFINITY);
}

/// Penalty and covectors, one sample a thread. For each sample x:
///
///   J, H = first and second derivatives of T at x, by the chain rule over all transforms
///   penalty += formula(J, H): the bending energy is sum_k sum_ab H_k[ab]^2 (Rueckert et al. 1999, eq. 4)
///   covectors: derivatives of that sum by the last transform's J1 and H1, from J = J1 J0 and
///   H = H1(J0, J0) + J1 H0
template <int D, JetFormula Formula, JetGradient Gradient>
__global__ void __launch_bounds__(threadsOfMany)
    addJets(const __grid_constant__ SamplesOnCuda<D> samples, const SampleChunk chunk,
            const __grid_constant__ ChainOnCuda<D> chain, const __grid_constant__ MaskOnCuda<D> movingMask,
            const bool throughJacobian, const __grid_constant__ JetSettings<D> settings, double* scratch,
            double* covectors, JetSums<D>* result)
{
  constexpr int sums = Gradient == JetGradient::ofLinear ? 3 + D * D : 3;
  double sum[sums] = {};
  unsigned long long largest = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < chunk.count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const SampleOnCuda<D> sample = sampleAt(samples, chunk.first + i);
    FormulaAt<D, Formula> formula{settings};
    sum[2] += sample.asked;
    bool counts = sample.asked;
    if constexpr (Formula == JetFormula::tissueVolume) {
      formula.fixed = samples.fixed != nullptr ? samples.fixed[chunk.first + i] : samples.image[sample.voxel];
      formula.moving = settings.moving[chunk.first + i];
      counts = counts && !isnan(formula.fixed) && !isnan(formula.moving);
    }
    JetOf<D, Formula> jet, before;
    if (counts) {
      jetOfChain<D>(chain, sample.pointMm, jet, before);
      Vec<D> mappedMm;
#pragma unroll
      for (int d = 0; d < D; ++d)
        mappedMm[d] = jet.pointMm[d];
      counts = movingMask.contains(mappedMm);
    }
    if (counts) {
      sum[0] += formula.penalty(jet);
      sum[1] += 1;
    }
    if constexpr (Formula == JetFormula::tissueVolume && Gradient != JetGradient::none) {
      const double ofMoving =
          counts ? settings.tissue.at(formula.fixed, formula.moving, jet.jacobian).ofMoving : 0;
#pragma unroll
      for (int d = 0; d < D; ++d) {
        float& slope = settings.gradientPerMm[d][chunk.first + i];
        slope = counts ? static_cast<float>(ofMoving * slope) : 0;
      }
    }
    if constexpr (Gradient == JetGradient::ofLinear) {
      if (counts) {
        double ofJacobian[D][D];
        formula.covectorOfJacobian(jet, before, ofJacobian);
#pragma unroll
        for (int k = 0; k < D * D; ++k)
          sum[3 + k] += ofJacobian[k / D][k % D];
      }
    } else if constexpr (Gradient == JetGradient::byCovectors) {
      if (counts)
        largest = max(largest, writeCovectors<D, Formula>(chain.links[chain.count - 1], throughJacobian,
                                                          formula, jet, before, chunk.count, covectors + i));
      else
#pragma unroll
        for (int d = 0; d < D; ++d)
          covectors[d * chunk.count + i] = NAN;
    }
  }
  if constexpr (Gradient == JetGradient::byCovectors) {
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
struct JetBound {
  const JetSums<D>* result;
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

  /// `Entries` is D if there are no covectors of second derivatives.
  template <int Entries>
  __device__ void add(const JetWeights<D, Order>& w, const double (&covectors)[D][Entries], int lane)
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
        for (int e = 0; e < Entries; ++e)
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

/// The adjoint of the derivatives of a B-spline: for each sample x, each control point p of its
/// support and each component k
///
///   gradient[k][p] += sum_e covector[k][e] * (derivative e of the weight of p at x)
///
/// A warp takes `run` samples, one after the other, and its lanes share the control points. Neighbouring
/// samples of a lattice mostly have the same support, so the sums leave the registers only when it changes.
/// In 3D it reads 240 bytes a sample, 96 without second derivatives, and adds (order + 1)^D D integers for
/// each support.
template <int D, JetFormula Formula, int Order>
__global__ void __launch_bounds__(threadsOfMany)
    scatter(const __grid_constant__ TransformOnCuda<D> transform, const std::size_t count, const int run,
            const bool throughJacobian, const double* covectors, const JetBound<D> bound,
            unsigned long long* sums)
{
  constexpr int entries = entriesOf<D, Formula>;
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

template <int D, JetFormula Formula>
auto* kernelFor(JetGradient gradient)
{
  return gradient == JetGradient::none       ? addJets<D, Formula, JetGradient::none>
         : gradient == JetGradient::ofLinear ? addJets<D, Formula, JetGradient::ofLinear>
                                             : addJets<D, Formula, JetGradient::byCovectors>;
}

template <int D, JetFormula Formula>
auto* scatterOf(int order)
{
  return order == 3 ? scatter<D, Formula, 3> : order == 2 ? scatter<D, Formula, 2> : scatter<D, Formula, 1>;
}

}

template <int D>
void jetPenaltyOnCuda(Context& context, JetFormula formula, const JetSettings<D>& settings,
                      const SamplesOnCuda<D>& samples, const SampleChunk& chunk, const ChainOnCuda<D>& chain,
                      const MaskOnCuda<D>& movingMask, JetGradient gradient, double* scratch,
                      double* covectors, JetSums<D>* result)
{
  if (chunk.count == 0)
    return;
  const int threads =
      chunk.count <= 16384 ? 32 : threadsOfMany; // small blocks reach more multiprocessors if samples are few
  const std::size_t maxBlocks = maxJetWarps / (threads / 32);
  const auto blocks = static_cast<unsigned>(std::min(ceilDiv<std::size_t>(chunk.count, threads), maxBlocks));
  const auto kernel = formula == JetFormula::bendingEnergy ? kernelFor<D, JetFormula::bendingEnergy>(gradient)
                      : formula == JetFormula::folding     ? kernelFor<D, JetFormula::folding>(gradient)
                                                           : kernelFor<D, JetFormula::tissueVolume>(gradient);
  kernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, chunk, chain, movingMask,
                                                        isThroughJacobian(formula, chain), settings, scratch,
                                                        covectors, result);
  checkLaunch("penalty on spatial derivatives");
}

template <int D>
void pullBackJetsOnCuda(Context& context, JetFormula formula, const SampleChunk& chunk,
                        const ChainOnCuda<D>& chain, const double* covectors, const JetSums<D>* result,
                        bool overwrites, bool isLast, unsigned long long* sums, double* gradient)
{
  const TransformOnCuda<D>& transform = chain.links[chain.count - 1];
  const JetBound<D> bound{result, chunk.count};
  const cudaStream_t stream = cudaStreamOf(context);
  if (chunk.count > 0) {
    constexpr int threads = threadsOfMany;
    // Shorter runs if there would be too few warps otherwise.
    const int run = static_cast<int>(std::clamp<std::size_t>(chunk.count / 16384, 1, 32));
    const auto blocks =
        static_cast<unsigned>(ceilDiv<std::size_t>(ceilDiv<std::size_t>(chunk.count, run), threads / 32));
    const auto kernel = formula == JetFormula::bendingEnergy
                            ? scatterOf<D, JetFormula::bendingEnergy>(transform.order)
                            : scatterOf<D, JetFormula::folding>(transform.order);
    kernel<<<blocks, threads, 0, stream>>>(transform, chunk.count, run, isThroughJacobian(formula, chain),
                                           covectors, bound, sums);
    checkLaunch("pull-back of a penalty on spatial derivatives");
  }
  addFixedPointSums(stream, static_cast<std::size_t>(D) * transform.pointCount(), bound,
                    {overwrites, isLast ? result->valid() : nullptr}, sums, gradient);
}

TESSERA_INSTANTIATE_FUNCTIONS(jetPenaltyOnCuda<D>, pullBackJetsOnCuda<D>);

}
