#include "Components/Metrics/LocalNormalizedCorrelation.h"

#include "Components/Metrics/Shared/BlockSum.cuh"
#include "Components/Metrics/Shared/LocalWindows/GaussianWindowSums.cuh"
#include "Components/Metrics/Shared/LocalWindows/LocalCorrelationOnCuda.h"
#include "Components/Metrics/Shared/LocalWindows/SmallWindowSums.cuh"
#include "Components/Metrics/Shared/LocalWindows/WindowSums.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threadsOfFinish = 256;
/// Rows of positions that a warp takes in small windows, and blocks of a multiprocessor that its registers
/// allow. More rows share more of their work, but then fewer warps fit, and the instructions of a slice no
/// longer fit the cache.
constexpr int heightOfCorrelate = 3, heightOfSlopes = 5;
template <int Radius>
constexpr int blocksOfCorrelate = Radius == 3 ? 5 : 6;
template <int Radius>
constexpr int blocksOfSlopes = Radius == 3 ? 6 : 8;

/// The intensities at a position, in units of their images' ranges; returns whether the position counts.
/// At a position that is not there nothing is read, and it does not count.
__device__ __forceinline__ bool readPair(const UnitPairs& pairs, unsigned position, float& f, float& m,
                                         bool isThere = true)
{
  const float fixed = isThere ? __ldg(pairs.fixed + position) : NAN,
              moving = isThere ? __ldg(pairs.moving + position) : 0;
  f = fmaf(fixed, pairs.fixedScale, pairs.fixedOffset);
  m = fmaf(moving, pairs.movingScale, pairs.movingOffset);
  return fixed == fixed && moving == moving;
}

/// a b as the nearest int, for products between -2^22 and 2^22. Such a product plus 1.5 * 2^23 has the int in
/// the last bits of a float. Instructions for conversions are a fourth as fast.
__device__ __forceinline__ int roundedProduct(float a, float b)
{
  return __float_as_int(fmaf(a, b, 12582912.0f)) - 0x4b400000;
}

/// 1, f, m, f f, m m and f m, in steps of 2^-bits. The intensities of an image are cut off half a range
/// beyond its range, so that their sums fit.
struct ExactPairQuantities {
  using Number = int;
  static constexpr int quantities = 6;
  UnitPairs pairs;
  float steps; // 2^bits

  __device__ void read(unsigned position, int (&values)[quantities], bool isThere = true) const
  {
    float f, m;
    const bool counts = readPair(pairs, position, f, m, isThere);
    f = counts ? fminf(fmaxf(f, -1.0f), 1.0f) : 0; // in this order, NaN gives a number too
    m = counts ? fminf(fmaxf(m, -1.0f), 1.0f) : 0;
    values[0] = counts;
    const float ofF = f * steps, ofM = m * steps;
    values[1] = roundedProduct(f, steps);
    values[2] = roundedProduct(m, steps);
    values[3] = roundedProduct(f, ofF);
    values[4] = roundedProduct(m, ofM);
    values[5] = roundedProduct(f, ofM);
  }
};

/// 1, f, m, f f, m m and f m for sums over Gaussian windows.
struct PairQuantities {
  static constexpr int arrays = 2, quantities = 6;
  static constexpr float outside = NAN;
  UnitPairs pairs;

  __device__ const float* array(int a) const { return a == 0 ? pairs.fixed : pairs.moving; }
  __device__ void compute(const float (&read)[arrays], float (&values)[quantities]) const
  {
    const bool counts = read[0] == read[0] && read[1] == read[1];
    const float f = counts ? fmaf(read[0], pairs.fixedScale, pairs.fixedOffset) : 0;
    const float m = counts ? fmaf(read[1], pairs.movingScale, pairs.movingOffset) : 0;
    values[0] = counts ? 1 : 0;
    values[1] = f;
    values[2] = m;
    values[3] = f * f;
    values[4] = m * m;
    values[5] = f * m;
  }
};

/// 1 / x to the last bit or two, without the rare cases that a division takes care of.
__device__ __forceinline__ float inverseOf(float x)
{
  return __fdividef(1.0f, x);
}

/// Means, covariance and variances of a window, the latter three as sums.
struct Moments {
  float n, meanF, meanM, cov, varF, varM;
};

/// Differences of large numbers are taken between integers, which lose nothing.
__device__ __forceinline__ Moments momentsOf(const int (&sums)[6], float steps)
{
  Moments w;
  w.n = static_cast<float>(sums[0]);
  const float perN = inverseOf(w.n), step = inverseOf(steps), perSquare = step * step * perN;
  const long long n = static_cast<long long>(sums[0]) * static_cast<int>(steps);
  const auto difference = [&](int product, int a, int b) {
    return static_cast<float>(n * product - static_cast<long long>(a) * b) * perSquare;
  };
  w.meanF = static_cast<float>(sums[1]) * step * perN;
  w.meanM = static_cast<float>(sums[2]) * step * perN;
  w.varF = difference(sums[3], sums[1], sums[1]);
  w.varM = difference(sums[4], sums[2], sums[2]);
  w.cov = difference(sums[5], sums[1], sums[2]);
  return w;
}

__device__ __forceinline__ Moments momentsOf(const float (&sums)[6], float)
{
  Moments w;
  w.n = sums[0];
  const float perN = inverseOf(w.n);
  w.meanF = sums[1] * perN;
  w.meanM = sums[2] * perN;
  w.varF = fmaf(-sums[1], w.meanF, sums[3]);
  w.varM = fmaf(-sums[2], w.meanM, sums[4]);
  w.cov = fmaf(-sums[1], w.meanM, sums[5]);
  return w;
}

/// p, q and r of LocalNormalizedCorrelation at each position.
template <class Float>
struct Pulled {
  Float *p = nullptr, *q = nullptr, *r = nullptr;

  Pulled() = default;
  Pulled(Float* arrays, std::size_t count) : p(arrays), q(arrays + count), r(arrays + 2 * count) {}
};

/// Writes p, q and r of the windows unless they are null, and a sum of coefficients for each block.
template <class Number>
struct Correlate {
  struct State {
    double sum = 0;
    unsigned windows = 0;
  };
  UnitPairs pairs;
  float steps;
  Pulled<float> pulled;
  Correlations* ofBlocks;

  __device__ void take(State& state, unsigned position, const Number (&sums)[6]) const
  {
    float f, m, p = 0, q = 0, r = 0;
    if (readPair(pairs, position, f, m)) { // then the window holds at least this position
      const Moments w = momentsOf(sums, steps);
      const float ofNoise = pairs.noiseVariance * w.n;
      const float contrast = fmaxf(w.varF, 0.0f);
      const float varF = contrast + ofNoise, varM = fmaxf(w.varM, 0.0f) + ofNoise;
      const float inverse = inverseOf(varF * varM);
      const float weight = pairs.noiseIsShared ? contrast * varM * inverse : 1;
      const float cov = pairs.noiseIsShared ? w.cov + ofNoise : w.cov, size = weight * fabsf(cov);
      state.sum += cov * size * inverse;
      ++state.windows;
      p = 2 * size * inverse;
      q = p * cov * varF * inverse;
      r = q * w.meanM - p * w.meanF;
    }
    if (pulled.p == nullptr)
      return;
    pulled.p[position] = p;
    pulled.q[position] = q;
    pulled.r[position] = r;
  }
  __device__ void finish(const State& state) const
  {
    const Correlations ofBlock = sumOfBlock(Correlations{state.sum, static_cast<double>(state.windows)});
    if (threadIdx.x == 0)
      ofBlocks[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = ofBlock;
  }
};

struct ReadPulled {
  using Number = float;
  static constexpr int arrays = 3, quantities = 3;
  static constexpr float outside = 0;
  Pulled<const float> pulled;

  __device__ const float* array(int a) const { return a == 0 ? pulled.p : a == 1 ? pulled.q : pulled.r; }
  __device__ void compute(const float (&read)[arrays], float (&values)[quantities]) const
  {
    for (int q = 0; q < quantities; ++q)
      values[q] = read[q];
  }

  __device__ void read(unsigned position, float (&values)[quantities], bool isThere = true) const
  {
    values[0] = isThere ? __ldg(pulled.p + position) : 0;
    values[1] = isThere ? __ldg(pulled.q + position) : 0;
    values[2] = isThere ? __ldg(pulled.r + position) : 0;
  }
};

struct WriteSlopes {
  struct State {};
  UnitPairs pairs;
  const float* factor;
  float* slopes;

  __device__ void take(State&, unsigned position, const float (&sums)[3]) const
  {
    float f, m;
    const bool counts = readPair(pairs, position, f, m);
    slopes[position] = counts ? *factor * (fmaf(f, sums[0], sums[2]) - m * sums[1]) : 0;
  }
  __device__ void finish(const State&) const {}
};

/// One block adds the sums of all blocks, always in the same order.
__global__ void __launch_bounds__(threadsOfFinish)
    finishCorrelations(const Correlations* ofBlocks, unsigned count, float movingScale, MetricResult* result,
                       float* factor)
{
  Correlations own;
  for (unsigned i = threadIdx.x; i < count; i += threadsOfFinish)
    own.add(ofBlocks[i]);
  own = sumOfBlock(own);
  if (threadIdx.x != 0)
    return;
  const double perWindow = own.windows > 0 ? -1 / own.windows : 0;
  *result = {perWindow * own.sum, static_cast<unsigned long long>(own.windows)};
  *factor = static_cast<float>(perWindow) * movingScale;
}

/// The number of steps of integer sums from 0 to 1: as many as roundedProduct allows, or fewer, so that the
/// sum over a window of this lattice fits.
float stepsOf(const LocalWindow& window, const IntensityPairs& lattice)
{
  long long positions = 1;
  for (int d = 0; d < 3; ++d)
    positions *= std::min(2 * window.radius[d] + 1, lattice.size[d]);
  int steps = 1 << 22;
  while (steps * positions >= (1LL << 31))
    steps /= 2;
  return static_cast<float>(steps);
}

int3 threeOf(const std::array<int, 3>& numbers)
{
  return {numbers[0], numbers[1], numbers[2]};
}

}

void LocalCorrelationOnCuda::accumulate(Context& context, const IntensityPairs& lattice)
{
  const int3 size = threeOf(lattice.size);
  units_.fixed = lattice.fixed;
  units_.moving = lattice.moving;
  Pulled<float> pulled;
  if (lattice.slopesFollow)
    pulled = Pulled<float>(grown(context, pulled_, 3 * lattice.count), lattice.count);
  const auto sumsOf = [&](const dim3& blocks) {
    blocks_ = blocks.x * blocks.y * blocks.z;
    return grown(context, ofBlocks_, blocks_);
  };
  if (!window_.isBox()) {
    gaussianwindows::launch(context, size, window_, PairQuantities{units_}, [&](const dim3& blocks) {
      return Correlate<float>{units_, 1, pulled, sumsOf(blocks)};
    });
    return;
  }
  const float steps = stepsOf(window_, lattice);
  const ExactPairQuantities source{units_, steps};
  const bool isSmall = smallwindows::ifSmall(window_, [&]<int Radius>() {
    const dim3 blocks = smallwindows::blocksOf<Radius, heightOfCorrelate>(size);
    smallwindows::launch<Radius, heightOfCorrelate, blocksOfCorrelate<Radius>>(
        context, size, window_.radius[2], source, Correlate<int>{units_, steps, pulled, sumsOf(blocks)});
  });
  if (!isSmall)
    windowsums::launch(context, size, threeOf(window_.radius), source,
                       Correlate<int>{units_, steps, pulled, sumsOf(windowsums::blocksOf(size))});
}

void LocalCorrelationOnCuda::finish(Context& context, MetricResult* result)
{
  finishCorrelations<<<1, threadsOfFinish, 0, cudaStreamOf(context)>>>(
      ofBlocks_.span().data(), blocks_, units_.movingScale, result, factor_.span().data());
  checkLaunch("sum of local correlation coefficients");
}

void LocalCorrelationOnCuda::slopes(Context& context, const IntensityPairs& lattice, float* slopes) const
{
  const ReadPulled source{Pulled<const float>(pulled_.span().data(), lattice.count)};
  const WriteSlopes sink{units_, factor_.span().data(), slopes};
  const int3 size = threeOf(lattice.size);
  if (!window_.isBox()) {
    gaussianwindows::launch(context, size, window_, source, [&](const dim3&) { return sink; });
    return;
  }
  const bool isSmall = smallwindows::ifSmall(window_, [&]<int Radius>() {
    smallwindows::launch<Radius, heightOfSlopes, blocksOfSlopes<Radius>>(context, size, window_.radius[2],
                                                                         source, sink);
  });
  if (!isSmall)
    windowsums::launch(context, size, threeOf(window_.radius), source, sink);
}

}
