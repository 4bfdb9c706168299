#include "Components/Metrics/Shared/Histograms/ParzenBatch.h"

#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

constexpr std::size_t blockSize =
    64; // pairs at once: their windows stay in the first-level cache beside the histogram
constexpr int maxTaps = 4;

/// The windows of a block of pairs along one axis.
struct AxisBlock {
  double limited[blockSize]; // limited intensities
  double limiterDerivative[blockSize];
  int start[blockSize];
  double t[blockSize];
  double taps[maxTaps][blockSize];
};

/// ParzenAxis::window without its branches, where no intensity needs them.
TESSERA_ALWAYS_INLINE void findWindows(const ParzenAxis axis, std::size_t count, AxisBlock& block)
{
  int beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double place = axis.inBins(block.limited[i]), begin = axis.windowBegin(place);
    const int start = static_cast<int>(begin); // rounds down, since it is not negative
    block.start[i] = start;
    block.t[i] = place - start;
    beyond |= (begin >= 0 ? 0 : 1) | (begin < axis.bins - axis.order ? 0 : 1);
  }
  if (beyond)
    for (std::size_t i = 0; i < count; ++i)
      block.start[i] = axis.window(block.limited[i], block.t[i]);
}

/// Applies the limiter if there is an intensity that it changes.
TESSERA_ALWAYS_INLINE void limit(const SoftLimiter limiter, const float* moving, std::size_t count,
                                 AxisBlock& block)
{
  int beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double intensity = moving[i];
    block.limited[i] = intensity;
    block.limiterDerivative[i] = 1;
    beyond |= limiter.bends(intensity) ? 1 : 0;
  }
  if (beyond)
    for (std::size_t i = 0; i < count; ++i)
      block.limited[i] = limiter(moving[i], block.limiterDerivative[i]);
}

template <int Order>
TESSERA_ALWAYS_INLINE void findWeights(std::size_t count, AxisBlock& block)
{
  for (std::size_t i = 0; i < count; ++i) {
    double weights[Order + 1];
    bsplineWeights<Order, double>(block.t[i], weights);
    for (int k = 0; k <= Order; ++k)
      block.taps[k][i] = weights[k];
  }
}

template <int Order>
TESSERA_ALWAYS_INLINE void findDerivatives(std::size_t count, AxisBlock& block)
{
  for (std::size_t i = 0; i < count; ++i) {
    double derivatives[Order + 1];
    parzenDerivatives(Order, block.t[i], derivatives);
    for (int k = 0; k <= Order; ++k)
      block.taps[k][i] = derivatives[k];
  }
}

TESSERA_MULTIVERSION_TO_V4 void fixedWeights(const ParzenWindows& windows, const float* fixed,
                                             std::size_t count, AxisBlock& block)
{
  for (std::size_t i = 0; i < count; ++i)
    block.limited[i] = windows.limitedFixed(fixed[i]);
  findWindows(windows.fixed, count, block);
  withConstant<0, 3>(
      windows.fixed.order, [&]<int Order>()
                               __attribute__((always_inline)) { findWeights<Order>(count, block); });
}

TESSERA_MULTIVERSION_TO_V4 void movingWeights(const ParzenWindows& windows, const float* moving,
                                              std::size_t count, AxisBlock& block)
{
  limit(windows.movingLimiter, moving, count, block);
  findWindows(windows.moving, count, block);
  withConstant<0, 3>(
      windows.moving.order, [&]<int Order>()
                                __attribute__((always_inline)) { findWeights<Order>(count, block); });
}

TESSERA_MULTIVERSION_TO_V4 void movingDerivatives(const ParzenWindows& windows, const float* moving,
                                                  std::size_t count, AxisBlock& block)
{
  limit(windows.movingLimiter, moving, count, block);
  findWindows(windows.moving, count, block);
  withConstant<0, 3>(
      windows.moving.order, [&]<int Order>()
                                __attribute__((always_inline)) { findDerivatives<Order>(count, block); });
}

/// shares[m][i] = the number that pair i adds to the m-th bin of a row of its window
TESSERA_MULTIVERSION_TO_V4 void findShares(const double* fixedWeights, const AxisBlock& moving, int taps,
                                           std::size_t count, std::int64_t (&shares)[maxTaps][blockSize])
{
  for (int m = 0; m < taps; ++m)
    for (std::size_t i = 0; i < count; ++i)
      shares[m][i] = ParzenWindows::fixedPoint(fixedWeights[i], moving.taps[m][i]);
}

template <int Taps>
TESSERA_ALWAYS_INLINE void addShares(const ParzenWindows& windows, const AxisBlock& fixed,
                                     const AxisBlock& moving, int row, std::size_t count,
                                     const std::int64_t (&shares)[maxTaps][blockSize], std::int64_t* counts)
{
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t* at =
        counts + static_cast<std::ptrdiff_t>(fixed.start[i] + row) * windows.moving.bins + moving.start[i];
    for (int m = 0; m < Taps; ++m)
      at[m] += shares[m][i];
  }
}

}

void accumulatePairs(const ParzenWindows& windows, const float* fixed, const float* moving, std::size_t count,
                     std::int64_t* counts)
{
  AxisBlock fixedBlock, movingBlock;
  std::int64_t shares[maxTaps][blockSize];
  for (std::size_t first = 0; first < count; first += blockSize) {
    const std::size_t pairs = std::min(blockSize, count - first);
    fixedWeights(windows, fixed + first, pairs, fixedBlock);
    movingWeights(windows, moving + first, pairs, movingBlock);
    for (int f = 0; f <= windows.fixed.order; ++f) {
      findShares(fixedBlock.taps[f], movingBlock, windows.moving.order + 1, pairs, shares);
      withConstant<0, 3>(windows.moving.order, [&]<int Order>() {
        addShares<Order + 1>(windows, fixedBlock, movingBlock, f, pairs, shares, counts);
      });
    }
  }
}

void slopesOfPairs(const ParzenWindows& windows, const double* weights, double perSample, const float* fixed,
                   const float* moving, std::size_t count, float* slopes)
{
  AxisBlock fixedBlock, movingBlock;
  for (std::size_t first = 0; first < count; first += blockSize) {
    const std::size_t pairs = std::min(blockSize, count - first);
    fixedWeights(windows, fixed + first, pairs, fixedBlock);
    movingDerivatives(windows, moving + first, pairs, movingBlock);
    withConstant<0, 3>(windows.moving.order, [&]<int Order>() {
      for (std::size_t i = 0; i < pairs; ++i) {
        double sum = 0;
        for (int f = 0; f <= windows.fixed.order; ++f) {
          const double* row = weights
                              + static_cast<std::ptrdiff_t>(fixedBlock.start[i] + f) * windows.moving.bins
                              + movingBlock.start[i];
          double ofRow = 0;
          for (int m = 0; m <= Order; ++m)
            ofRow += movingBlock.taps[m][i] * row[m];
          sum += fixedBlock.taps[f][i] * ofRow;
        }
        slopes[first + i] = static_cast<float>(sum * movingBlock.limiterDerivative[i] * perSample);
      }
    });
  }
}

}
