#pragma once

// Metric formulas on CUDA and the same formulas on the CPU, from and to arrays of the host.

#include "Components/Metrics/HistogramOnCuda.h"
#include "Testing/Support/GpuTest.h"
#include "Testing/Support/MetricChecks.h"

#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera::testing {

struct MetricEvaluation {
  double value = 0;
  std::size_t valid = 0;
  std::array<Intensities, 3> gradients;
  std::vector<std::int64_t> counts; // of histograms
};

inline bool sameBits(const MetricEvaluation& a, const MetricEvaluation& b)
{
  bool same = a.valid == b.valid && a.counts == b.counts && std::memcmp(&a.value, &b.value, sizeof a.value) == 0;
  for (int d = 0; d < 3; ++d)
    same = same && std::memcmp(a.gradients[d].data(), b.gradients[d].data(), a.gradients[d].size() * sizeof(float)) == 0;
  return same;
}

inline std::array<Intensities, 3> someGradients(std::size_t count)
{
  return {randomIntensities(count, 11, -1, 1), randomIntensities(count, 12, 0.5, 1), randomIntensities(count, 13, -2, 2)};
}

inline bool isPair(float fixed, float moving)
{
  return !std::isnan(fixed) && !std::isnan(moving);
}

/// On the CPU: what a driver does, which leaves out samples that have no intensity.
template <class Formula>
MetricEvaluation evaluateOnCpu(const Formula& formula, const Intensities& fixed, const Intensities& moving)
{
  MetricEvaluation result;
  typename Formula::Sums sums = formula.zeroSums();
  for (std::size_t i = 0; i < fixed.size(); ++i)
    if (isPair(fixed[i], moving[i])) {
      formula.accumulate(sums, fixed[i], moving[i]);
      ++result.valid;
    }
  const typename Formula::Table table = formula.finish(sums, result.valid);
  result.value = formula.value(table);
  result.gradients = someGradients(fixed.size());
  for (auto& gradient : result.gradients)
    for (std::size_t i = 0; i < fixed.size(); ++i)
      gradient[i] = isPair(fixed[i], moving[i]) ? gradient[i] * formula.slope(table, fixed[i], moving[i]) : 0;
  if constexpr (requires { sums.counts; })
    result.counts = sums.counts;
  return result;
}

/// `slabs`: calls that share the samples; their arrays begin at odd places. `components`: 2 leaves the third gradient out.
template <class Formula>
MetricEvaluation evaluateOnGpu(Context& context, const Formula& formula, const Intensities& fixed, const Intensities& moving,
                               std::size_t slabs = 1, int components = 3)
{
  constexpr float untouched = -4321;
  const std::size_t count = fixed.size(), guard = 67;
  Buffer<float> fixedOnDevice(context, count), movingOnDevice(context, count), gradients(context, 3 * (count + guard));
  fixedOnDevice.fromHost(context, fixed);
  movingOnDevice.fromHost(context, moving);
  std::vector<float> all(gradients.size(), untouched);
  const auto start = someGradients(count);
  for (int d = 0; d < 3; ++d)
    std::copy(start[d].begin(), start[d].end(), all.begin() + d * (count + guard));
  gradients.fromHost(context, all);
  Buffer<tessera::MetricResult> onDevice(context, 1);

  const std::unique_ptr<MetricOnCuda> metric = formula.onCuda(context);
  const std::size_t share = (count + slabs - 1) / slabs;
  const auto forEachSlab = [&](const auto& function) {
    for (std::size_t first = 0; first < count; first += share)
      function(first, IntensityPairs{fixedOnDevice.span().data() + first, movingOnDevice.span().data() + first,
                                     std::min(share, count - first)});
  };
  for (int time = 0; time < 2; ++time) { // the second must not know of the first
    metric->begin(context);
    forEachSlab([&](std::size_t, const IntensityPairs& pairs) { metric->accumulate(context, pairs); });
    metric->accumulate(context, {});
    metric->finish(context, onDevice.span().data());
  }
  forEachSlab([&](std::size_t first, const IntensityPairs& pairs) {
    std::array<float*, 3> of{};
    for (int d = 0; d < components; ++d)
      of[d] = gradients.span().data() + d * (count + guard) + first;
    metric->multiplyBySlopes(context, pairs, of);
  });

  metric->multiplyBySlopes(context, {}, {});

  MetricEvaluation result;
  const tessera::MetricResult found = onDevice.toHost(context)[0];
  result.value = found.value;
  result.valid = found.valid;
  all = gradients.toHost(context);
  for (int d = 0; d < 3; ++d) {
    const auto first = all.begin() + d * (count + guard);
    result.gradients[d].assign(first, first + count);
    EXPECT_EQ(std::count(first + count, first + count + guard, untouched), static_cast<std::ptrdiff_t>(guard))
        << "wrote behind gradient " << d;
  }
  if constexpr (requires(typename Formula::Sums sums) { sums.counts; }) {
    const auto counts = static_cast<const HistogramOnCuda&>(*metric).counts().toHost(context);
    result.counts.assign(counts.begin(), counts.end() - 1);
  }
  return result;
}

/// Every component within `tolerance` of the largest; where all slopes are 0 but for rounding, within that of double precision.
inline void expectSameGradients(const MetricEvaluation& found, const MetricEvaluation& expected, double tolerance)
{
  double largest = 0;
  for (const auto& gradient : expected.gradients)
    for (const float g : gradient)
      largest = std::max(largest, std::abs(static_cast<double>(g)));
  for (int d = 0; d < 3; ++d) {
    ASSERT_EQ(found.gradients[d].size(), expected.gradients[d].size());
    double worst = 0;
    std::size_t where = 0;
    for (std::size_t i = 0; i < found.gradients[d].size(); ++i) {
      const double off = std::abs(static_cast<double>(found.gradients[d][i]) - expected.gradients[d][i]);
      if (!(off <= worst)) {
        worst = off;
        where = i;
      }
    }
    EXPECT_LE(worst, tolerance * largest + 1e-13 / static_cast<double>(found.valid + 1))
        << "component " << d << ", sample " << where << " of " << found.gradients[d].size() << ": " << found.gradients[d][where]
        << " not " << expected.gradients[d][where];
  }
}

/// Pairs with something to find, some of them without intensity, and if wanted most of them background.
struct PairsOfIntensities {
  Intensities fixed, moving;

  PairsOfIntensities(std::size_t count, bool background, bool withNaNs, std::uint64_t seed = 1)
      : fixed(randomIntensities(count, seed, -2, 102)), moving(relatedIntensities(fixed, seed + 1))
  {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; background && i < count; ++i)
      if (i % 1000 >= 300) { // warps within, at the edge of, and without it
        fixed[i] = 0;
        moving[i] = i % 1000 < 900 ? 0 : moving[i] / 1000;
      }
    for (std::size_t i = 3; withNaNs && i < count; i += 7)
      (i % 2 ? fixed : moving)[i] = nan;
  }
};

}
