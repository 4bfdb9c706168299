#pragma once

#include "Core/Compute/HostDevice.h"

#include <cstddef>

// The formulas of one place of a series, for the CPU and for kernels.
namespace tessera {

/// Adds the variance over time of a place to `sum`, and sets the derivatives by its values. Number k of the
/// place is entry k * stride of both arrays; a NaN does not count. Returns false if no number counts.
template <class Slope>
TESSERA_HOST_DEVICE inline bool addVariance(const float* values, Slope* slopes, std::size_t times,
                                            std::size_t stride, double& sum)
{
  double mean = 0, valid = 0;
  for (std::size_t t = 0; t < times; ++t)
    if (const float value = values[t * stride]; value == value) {
      mean += value;
      ++valid;
    }
  if (valid == 0)
    return false;
  mean /= valid;
  for (std::size_t t = 0; t < times; ++t)
    if (const float value = values[t * stride]; value == value) {
      sum += (value - mean) * (value - mean) / valid;
      if (slopes != nullptr)
        slopes[t * stride] = static_cast<Slope>(2 * (value - mean) / valid);
    }
  return true;
}

/// Takes the mean over time off the numbers of a parameter, which stand `stride` apart.
TESSERA_HOST_DEVICE inline void subtractMeanOverTime(double* first, std::size_t times, std::size_t stride)
{
  double mean = 0;
  for (std::size_t t = 0; t < times; ++t)
    mean += first[t * stride];
  mean /= static_cast<double>(times);
  for (std::size_t t = 0; t < times; ++t)
    first[t * stride] -= mean;
}

}
