#include "Components/Metrics/Shared/BlockSum.cuh"
#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourGraphOnCuda.h"
#include "Components/Metrics/Shared/SumsOnCuda.cuh"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

namespace tessera {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;

/// One feature of the moving side at T(x) = before(x) + displacement, or of the fixed side at x (without
/// displacements, `before` being the identity). NaN where the sample is not asked for, or T(x) is outside of
/// the image or the mask.
template <int D>
struct FeatureTarget {
  float* values = nullptr;
  float* gradients = nullptr; // D planar arrays; null: not needed
  std::size_t count = 0;
};

/// One sample for each thread. Through the caches it reads the image's support, and writes 4 bytes, and 4 D
/// for gradients.
template <int D, int Order>
__global__ void __launch_bounds__(threads)
    gatherFeature(const __grid_constant__ SamplesOnCuda<D> samples,
                  const __grid_constant__ AffineMap<D> before,
                  const std::array<const float*, D> displacements, const __grid_constant__ MaskOnCuda<D> mask,
                  const __grid_constant__ InterpolatorOnCuda<D> image,
                  const __grid_constant__ FeatureTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  if (i >= samples.count)
    return;
  const SampleOnCuda<D> sample = sampleAt(samples, i);
  float value = NAN, gradient[D] = {};
  if (sample.asked) {
    const Vec<D> mappedMm = mappedMmOf<D>(sample, before, displacements, i);
    float found;
    if (mask.contains(mappedMm)
        && valueAt<D, Order>(image, mappedMm, target.gradients != nullptr, found, gradient))
      value = found;
  }
  target.values[i] = value;
  if (target.gradients != nullptr) {
#pragma unroll
    for (int d = 0; d < D; ++d)
      target.gradients[d * target.count + i] = gradient[d];
  }
}

/// The intensities of the first fixed image. Then a sample with a NaN among its features does not count.
template <int D>
__global__ void __launch_bounds__(threads)
    finishFeatures(const __grid_constant__ SamplesOnCuda<D> samples,
                   const __grid_constant__ NeighbourGraphSettings settings, float* features,
                   unsigned long long* askedSum)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  bool asked = false;
  if (i < samples.count) {
    const SampleOnCuda<D> sample = sampleAt(samples, i);
    asked = sample.asked;
    float fixed = NAN;
    if (asked)
      fixed = samples.fixed != nullptr ? samples.fixed[i] : samples.image[sample.voxel];
    for (int f = 1; f < settings.features(); ++f)
      if (isnan(features[f * samples.count + i]))
        fixed = NAN;
    features[i] = fixed;
    if (isnan(fixed))
      features[settings.fixedFeatures * samples.count + i] = NAN;
  }
  addAsked(asked, askedSum);
}

/// The features of the samples that a block handles at a time, [feature][sample].
template <int AtOnce>
__device__ void loadOwn(const float* features, int featureCount, std::size_t count, std::size_t first,
                        float* own)
{
  for (unsigned e = threadIdx.x; e < static_cast<unsigned>(featureCount * AtOnce); e += threads) {
    const std::size_t sample = first + e % AtOnce;
    own[e] = sample < count ? features[(e / AtOnce) * count + sample] : NAN;
  }
}

/// Squared distances between sample j and the block's samples, in features [first, last).
template <int AtOnce>
__device__ __forceinline__ void squaredDistances(const float* features, std::size_t count, int first,
                                                 int last, std::size_t j, const float* own,
                                                 float (&distances)[AtOnce])
{
#pragma unroll
  for (int q = 0; q < AtOnce; ++q)
    distances[q] = 0;
  for (int f = first; f < last; ++f) {
    const float other = loadConstant(features + f * count + j);
#pragma unroll
    for (int q = 0; q < AtOnce; ++q) {
      const float difference = other - own[f * AtOnce + q];
      distances[q] += difference * difference;
    }
  }
}

/// Positive distances in their order, all others after them.
__device__ __forceinline__ unsigned keyOf(float squaredDistance)
{
  return squaredDistance > 0 ? __float_as_uint(squaredDistance) : 0xffffffffu;
}

/// The k nearest others of a sample, whose squared distances distanceTo(j) gives, and the sum of the
/// distances to them. A warp finds the k-th smallest distance bit by bit, in 31 passes.
template <class DistanceTo>
__device__ Neighbourhood nearestByWarp(DistanceTo&& distanceTo, unsigned count, int k, double& length)
{
  const unsigned lane = threadIdx.x % 32;
  const auto countBelow = [&](unsigned key) {
    unsigned below = 0;
    for (unsigned j = lane; j < count; j += 32)
      below += keyOf(distanceTo(j)) < key;
#pragma unroll
    for (int other = 16; other > 0; other /= 2)
      below += __shfl_xor_sync(0xffffffff, below, other);
    return static_cast<int>(below);
  };
  constexpr unsigned infinity = 0x7f800000;
  unsigned key = 0;
  int below = 0;
  for (unsigned bit = 1u << 30; bit != 0; bit >>= 1)
    if (const int nearer = countBelow(key | bit); nearer < k) {
      key |= bit;
      below = nearer;
    }
  if (key > infinity) {
    key = infinity; // there are fewer than k others
    below = countBelow(key);
  }
  Neighbourhood found{__uint_as_float(key), 0};
  int missing = k - below;
  for (unsigned first = 0; first < count && missing > 0; first += 32) {
    const unsigned j = first + lane;
    const unsigned ties = __ballot_sync(0xffffffff, j < count && keyOf(distanceTo(j)) == key);
    const int here = __popc(ties);
    if (here == 0)
      continue;
    const int last = min(here, missing); // the number among the ties of this round of the last one taken
    const bool isLast = (ties >> lane & 1u) != 0 && __popc(ties << (31 - lane)) == last;
    found.lastTie =
        first + static_cast<unsigned>(__ffs(static_cast<int>(__ballot_sync(0xffffffff, isLast)))) - 1;
    missing -= last;
  }
  double sum = 0;
  for (unsigned j = lane; j < count; j += 32)
    if (const float distance = distanceTo(j); found.has(distance, j))
      sum += sqrt(static_cast<double>(distance));
#pragma unroll
  for (int other = 16; other > 0; other /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, other);
  length = sum;
  return found;
}

/// Finds the neighbours and the summands of AtOnce samples at a time. A pair of samples costs 3 operations a
/// feature, and reads the features of one of them from the caches; distances go through scratch there.
template <int AtOnce>
__global__ void __launch_bounds__(threads)
    searchNeighbours(const __grid_constant__ NeighbourGraphSettings settings,
                     const float* __restrict__ features, unsigned count, float* distances,
                     GraphSample* samples, float* summands)
{
  extern __shared__ float own[];
  __shared__ double lengths[3][AtOnce];
  __shared__ Neighbourhood found[3][AtOnce];
  float* const ofFixed = distances + static_cast<std::size_t>(blockIdx.x) * 2 * AtOnce * count;
  float* const ofMoving = ofFixed + static_cast<std::size_t>(AtOnce) * count;
  const unsigned warp = threadIdx.x / 32;
  for (std::size_t first = static_cast<std::size_t>(blockIdx.x) * AtOnce; first < count;
       first += static_cast<std::size_t>(gridDim.x) * AtOnce) {
    __syncthreads(); // the samples before are finished
    loadOwn<AtOnce>(features, settings.features(), count, first, own);
    __syncthreads();
    for (unsigned j = threadIdx.x; j < count; j += threads) {
      float squared[AtOnce];
      squaredDistances<AtOnce>(features, count, 0, settings.fixedFeatures, j, own, squared);
#pragma unroll
      for (int q = 0; q < AtOnce; ++q)
        ofFixed[static_cast<std::size_t>(q) * count + j] = squared[q];
      squaredDistances<AtOnce>(features, count, settings.fixedFeatures, settings.features(), j, own, squared);
#pragma unroll
      for (int q = 0; q < AtOnce; ++q)
        ofMoving[static_cast<std::size_t>(q) * count + j] = squared[q];
    }
    __syncthreads();
    for (unsigned task = warp; task < 3 * AtOnce; task += warps) {
      const unsigned graph = task % 3, q = task / 3;
      if (first + q >= count)
        continue;
      const float *const fixed = ofFixed + static_cast<std::size_t>(q) * count,
                         *const moving = ofMoving + static_cast<std::size_t>(q) * count;
      const auto distanceTo = [&](unsigned j) {
        return graph == 0 ? fixed[j] : graph == 1 ? moving[j] : fixed[j] + moving[j];
      };
      double length;
      const Neighbourhood neighbourhood = nearestByWarp(distanceTo, count, settings.neighbours, length);
      if (threadIdx.x % 32 == 0) {
        lengths[graph][q] = length;
        found[graph][q] = neighbourhood;
      }
    }
    __syncthreads();
    if (const unsigned q = threadIdx.x; q < AtOnce && first + q < count) {
      const std::size_t i = first + q;
      GraphSample sample;
      float summand = NAN;
      if (!isnan(features[i])) {
        sample.inMoving = found[1][q];
        sample.inJoint = found[2][q];
        summand =
            static_cast<float>(summandOf(settings, lengths[0][q], lengths[1][q], lengths[2][q], sample));
      }
      samples[i] = sample;
      summands[i] = summand;
    }
  }
}

/// Sums of a block's threads, one a sample and axis.
template <int Count>
struct Doubles {
  double values[Count] = {};

  __device__ void add(const Doubles& others)
  {
#pragma unroll
    for (int e = 0; e < Count; ++e)
      values[e] += others.values[e];
  }
};

/// d (sum of all summands) / d T(x) of AtOnce samples at a time, from the same distances as the search.
template <int D, int AtOnce>
__global__ void __launch_bounds__(threads)
    pullBackEdges(const __grid_constant__ NeighbourGraphSettings settings, const float* __restrict__ features,
                  const float* __restrict__ gradients, unsigned count,
                  const GraphSample* __restrict__ samples, const std::array<float*, D> covectors)
{
  extern __shared__ float own[];
  __shared__ GraphSample ownSamples[AtOnce];
  const float* const moving = features + static_cast<std::size_t>(settings.fixedFeatures) * count;
  for (std::size_t first = static_cast<std::size_t>(blockIdx.x) * AtOnce; first < count;
       first += static_cast<std::size_t>(gridDim.x) * AtOnce) {
    __syncthreads(); // the samples before are finished
    loadOwn<AtOnce>(features, settings.features(), count, first, own);
    if (threadIdx.x < AtOnce)
      ownSamples[threadIdx.x] = first + threadIdx.x < count ? samples[first + threadIdx.x] : GraphSample();
    __syncthreads();
    Doubles<D * AtOnce> sums;
    for (unsigned j = threadIdx.x; j < count; j += threads) {
      float squaredFixed[AtOnce], squaredMoving[AtOnce];
      squaredDistances<AtOnce>(features, count, 0, settings.fixedFeatures, j, own, squaredFixed);
      squaredDistances<AtOnce>(features, count, settings.fixedFeatures, settings.features(), j, own,
                               squaredMoving);
      const GraphSample other = samples[j];
#pragma unroll
      for (int q = 0; q < AtOnce; ++q) {
        const float factor =
            edgeFactor(settings, ownSamples[q], first + q, other, j, squaredFixed[q], squaredMoving[q]);
        if (factor == 0)
          continue;
        for (int m = 0; m < settings.movingFeatures; ++m) {
          const float slope = factor
                              * (own[(settings.fixedFeatures + m) * AtOnce + q]
                                 - moving[static_cast<std::size_t>(m) * count + j]);
#pragma unroll
          for (int d = 0; d < D; ++d)
            sums.values[q * D + d] += static_cast<double>(slope)
                                      * gradients[(static_cast<std::size_t>(m) * D + d) * count + first + q];
        }
      }
    }
    sums = sumOfBlock(sums);
    if (threadIdx.x != 0)
      continue;
#pragma unroll
    for (int q = 0; q < AtOnce; ++q)
#pragma unroll
      for (int d = 0; d < D; ++d)
        if (first + q < count)
          covectors[d][first + q] = static_cast<float>(sums.values[q * D + d]);
  }
}

}

template <int D>
void NeighbourGraphOnCuda<D>::compare(Context& context, const SamplesOnCuda<D>& samples,
                                      const AffineMap<D>& before,
                                      const std::array<const float*, D>& displacements,
                                      const MaskOnCuda<D>& movingMask, const GatherTarget<D>& target) const
{
  const std::size_t count = samples.count;
  if (count == 0)
    return;
  reserve(context, count);
  float* const features = features_.span().data();
  float* const gradients = target.gradientPerMm[0] != nullptr ? gradients_.span().data() : nullptr;
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(count, threads));
  const auto gather = [&](const InterpolatorOnCuda<D>& image, const AffineMap<D>& map,
                          const std::array<const float*, D>& beside, const MaskOnCuda<D>& mask,
                          const FeatureTarget<D>& out) {
    withOrder(image.order, [&]<int Order>() {
      gatherFeature<D, Order>
          <<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, map, beside, mask, image, out);
    });
    checkLaunch("gathering of features");
  };
  for (std::size_t f = 0; f < fixed_.size(); ++f)
    gather(fixed_[f], AffineMap<D>{}, {}, {}, {features + (f + 1) * count, nullptr, count});
  for (std::size_t m = 0; m < moving_.size(); ++m)
    gather(moving_[m], before, displacements, movingMask,
           {features + (settings_.fixedFeatures + m) * count, gradients ? gradients + m * D * count : nullptr,
            count});
  finishFeatures<D>
      <<<blocks, threads, 0, cudaStreamOf(context)>>>(samples, settings_, features, target.asked);
  checkLaunch("gathering of features");

  constexpr int atOnce = static_cast<int>(samplesAtOnce);
  const auto searchBlocks = static_cast<unsigned>(blocksFor(count));
  const std::size_t shared = sizeof(float) * settings_.features() * samplesAtOnce;
  searchNeighbours<atOnce><<<searchBlocks, threads, shared, cudaStreamOf(context)>>>(
      settings_, features, static_cast<unsigned>(count), distances_.span().data(), samples_.span().data(),
      target.moving);
  checkLaunch("search of neighbours");
  if (!gradients)
    return;
  pullBackEdges<D, atOnce><<<searchBlocks, threads, shared, cudaStreamOf(context)>>>(
      settings_, features, gradients, static_cast<unsigned>(count), samples_.span().data(),
      target.gradientPerMm);
  checkLaunch("gradient of the graphs of neighbours");
}

template class NeighbourGraphOnCuda<2>;
template class NeighbourGraphOnCuda<3>;
template class SumsOnCuda<AlphaMutualInformation>;

}
