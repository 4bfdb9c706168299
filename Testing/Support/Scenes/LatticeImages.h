#pragma once

// Intensities on a lattice for metrics that see the neighbours of each sample, and what such a metric finds.

#include "Core/Registration/Metric.h"
#include "Testing/Support/Checks/TransformChecks.h"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {

/// A share of the positions does not count.
struct LatticeImages {
  std::array<std::size_t, 3> size;
  std::vector<float> fixed, moving;

  /// fixed is fixedOf(position, a) and moving is movingOf(a, b), a and b random numbers from 0 to 100.
  template <class FixedOf, class MovingOf>
  LatticeImages(const std::array<std::size_t, 3>& sizeOfLattice, double missing, FixedOf&& fixedOf,
                MovingOf&& movingOf)
      : size(sizeOfLattice)
  {
    const std::size_t count = size[0] * size[1] * size[2];
    const std::vector<double> a = checks::randomVector(count, 1, 0, 100),
                              b = checks::randomVector(count, 2, 0, 100),
                              chance = checks::randomVector(count, 3, 0, 1);
    for (std::size_t i = 0; i < count; ++i) {
      fixed.push_back(static_cast<float>(fixedOf(i, a[i])));
      moving.push_back(chance[i] < missing ? std::numeric_limits<float>::quiet_NaN()
                                           : static_cast<float>(movingOf(a[i], b[i])));
    }
  }
  LatticeIntensities intensities() const { return {size, fixed.data(), moving.data()}; }
  std::size_t dimension() const { return size[2] > 1 ? 3 : 2; }
};

struct LatticeResult {
  double value = 0;
  std::vector<float> slopes;
};

/// Value and slopes of a metric that is prepared for a level.
template <class Metric>
LatticeResult evaluateOnCpu(Metric&& metric, const LatticeImages& images, int threads, bool withSlopes)
{
  LatticeResult result{0, std::vector<float>(images.fixed.size(), 1e30f)};
  result.value =
      metric.evaluate({{}, threads}, images.intensities(), withSlopes ? result.slopes.data() : nullptr);
  return result;
}

/// The slopes at every `step`-th position are differences of values; `resultOf(withSlopes)` evaluates the
/// images. `tolerance` is a share of the largest slope.
template <class ResultOf>
void expectSlopesAreDifferences(LatticeImages& images, std::size_t step, double tolerance,
                                const std::string& what, const ResultOf& resultOf)
{
  const std::vector<float> slopes = resultOf(true).slopes;
  const double largest = largestMagnitude(slopes);
  for (std::size_t i = 0; i < slopes.size(); i += step) {
    if (std::isnan(images.moving[i])) {
      EXPECT_EQ(slopes[i], 0);
      continue;
    }
    const float at = images.moving[i], above = at + 0.05f, below = at - 0.05f;
    images.moving[i] = above;
    const double valueAbove = resultOf(false).value;
    images.moving[i] = below;
    const double valueBelow = resultOf(false).value;
    images.moving[i] = at;
    EXPECT_NEAR(slopes[i], (valueAbove - valueBelow) / (static_cast<double>(above) - below),
                tolerance * largest)
        << what << ", position " << i << " of " << slopes.size();
  }
}

}
