#pragma once

// Metric formulas on CUDA and the same formulas on the CPU, from and to arrays of the host.

#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Testing/Support/Checks/MetricChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cstring>
#include <limits>
#include <vector>

namespace tessera::testing {

struct MetricEvaluation {
  double value = 0;
  std::size_t valid = 0;
  Intensities slopes;
  std::vector<std::int64_t> counts; // of histograms
};

inline bool sameBits(const MetricEvaluation& a, const MetricEvaluation& b)
{
  return a.valid == b.valid && a.counts == b.counts && std::memcmp(&a.value, &b.value, sizeof a.value) == 0
         && a.slopes.size() == b.slopes.size()
         && std::memcmp(a.slopes.data(), b.slopes.data(), a.slopes.size() * sizeof(float)) == 0;
}

inline bool isPair(float fixed, float moving)
{
  return !std::isnan(fixed) && !std::isnan(moving);
}

template <class Formula>
Intensities slopesOnCpu(const Formula& formula, const typename Formula::Table& table,
                        const Intensities& fixed, const Intensities& moving)
{
  Intensities slopes(fixed.size());
  for (std::size_t i = 0; i < fixed.size(); ++i)
    slopes[i] =
        isPair(fixed[i], moving[i]) ? static_cast<float>(formula.slope(table, fixed[i], moving[i])) : 0;
  return slopes;
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
  result.slopes = slopesOnCpu(formula, table, fixed, moving);
  if constexpr (requires { sums.counts; })
    result.counts = sums.counts;
  return result;
}

/// The samples come in so many calls, whose arrays begin at odd places.
template <class Formula>
MetricEvaluation evaluateOnGpu(Context& context, const Formula& formula, const Intensities& fixed,
                               const Intensities& moving, std::size_t slabs = 1)
{
  static_assert(MetricFormulaOnCuda<Formula>, "else registrations take the CPU without an error");
  constexpr float untouched = -4321;
  constexpr int evaluations = 2; // only the last is looked at: it must not know of the one before
  const std::size_t count = fixed.size(), guard = 67;
  Buffer<float> fixedOnDevice(context, count), movingOnDevice(context, count), slopes(context, count + guard);
  fixedOnDevice.fromHost(context, fixed);
  movingOnDevice.fromHost(context, moving);
  slopes.fromHost(context, std::vector<float>(slopes.size(), untouched));
  Buffer<tessera::MetricResult> onDevice(context, 1);

  const std::unique_ptr<MetricOnCuda> metric = formula.onCuda(context);
  const std::size_t share = (count + slabs - 1) / slabs;
  const auto forEachSlab = [&](const auto& function) {
    for (std::size_t first = 0; first < count; first += share)
      function(first, IntensityPairs{fixedOnDevice.span().data() + first,
                                     movingOnDevice.span().data() + first, std::min(share, count - first)});
  };
  for (int time = 0; time < evaluations; ++time) {
    metric->begin(context);
    forEachSlab([&](std::size_t, const IntensityPairs& pairs) { metric->accumulate(context, pairs); });
    metric->accumulate(context, {});
    metric->finish(context, onDevice.span().data());
  }
  forEachSlab([&](std::size_t first, const IntensityPairs& pairs) {
    metric->slopes(context, pairs, slopes.span().data() + first);
  });
  metric->slopes(context, {}, nullptr);

  MetricEvaluation result;
  const tessera::MetricResult found = onDevice.toHost(context)[0];
  result.value = found.value;
  result.valid = found.valid;
  const std::vector<float> all = slopes.toHost(context);
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(count);
  result.slopes.assign(all.begin(), end);
  EXPECT_EQ(std::count(end, all.end(), untouched), static_cast<std::ptrdiff_t>(guard))
      << "wrote behind the slopes";
  if constexpr (requires(typename Formula::Sums sums) { sums.counts; }) {
    const auto counts = static_cast<const HistogramOnCuda&>(*metric).counts().toHost(context);
    result.counts.assign(counts.begin(), counts.end() - 1);
  }
  return result;
}

/// Every slope within `tolerance` of the largest; where all slopes are 0 but for rounding, within that of
/// double precision.
inline void expectSameSlopes(const MetricEvaluation& found, const MetricEvaluation& expected,
                             double tolerance)
{
  EXPECT_LE(largestDifference(found.slopes, expected.slopes),
            tolerance * largestMagnitude(expected.slopes) + 1e-13 / static_cast<double>(found.valid + 1));
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
