#pragma once

#include "Testing/Support/Checks/TransformChecks.h"

namespace tessera::testing {

/// Uniform in a cube about the origin.
template <int D>
std::vector<Vec<D>> randomLandmarks(std::size_t count, unsigned seed, double extentMm)
{
  const std::vector<double> values = checks::randomVector(D * count, seed, -extentMm / 2, extentMm / 2);
  std::vector<Vec<D>> points(count);
  for (std::size_t i = 0; i < values.size(); ++i)
    points[i / D][i % D] = values[i];
  return points;
}

}
