#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Samples/SampleKernels.h"

#include <array>
#include <cstddef>
#include <cstdint>

// The formulas of one place of a series, for the CPU and for kernels, and the kernels of its metrics, whose
// arrays lie on the context's CUDA device.
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

/// Some places of a series, each at several times. Number k of place i is entry k * places + i.
struct PlacesOnCuda {
  std::size_t places = 0, times = 0;
  float* values = nullptr; // of the moving image at T(x, t); NaN outside of it or its mask
  float* slopes = nullptr; // derivative by the value, which the metric sets; null without a gradient

  TESSERA_HOST_DEVICE std::size_t entries() const { return places * times; }
};

/// Writes the points of the entries of a batch of samples from `first` on, D planar arrays; NaN where the
/// mask leaves out the sample. Adds the number of samples that the mask contains to *asked, unless null.
template <int D>
TESSERA_CUDA_ONLY void spreadOverTimeOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                            const PlacesOnCuda&, const std::uint32_t* timeOf,
                                            double originOfTime, double spacingOfTime, double* pointMm,
                                            unsigned long long* asked);

/// Sets values to NaN where a point was not inside the moving image or lies outside of its mask, and turns
/// the gradients of the others.
template <int D>
TESSERA_CUDA_ONLY void keepValidOnCuda(Context&, std::size_t entries,
                                       const std::array<const double*, D>& mappedMm,
                                       const std::uint8_t* inside, const MovingOnCuda<D>&, float* values,
                                       const std::array<float*, D>& gradientPerMm);

/// SeriesTerm's constraint: subtractMeanOverTime for each parameter of one time.
TESSERA_CUDA_ONLY void subtractMeanOverTimeOnCuda(const Context&, std::size_t groups, std::size_t times,
                                                  std::size_t each, double* gradient);

constexpr unsigned maxVarianceBlocks = 264;
/// Adds the variances of places, and the number of places that have one, to two sums, and sets the slopes.
/// `scratch` holds two doubles for each block.
TESSERA_CUDA_ONLY void addVariancesOnCuda(Context&, const PlacesOnCuda&, double* scratch, double* sums);

/// For places that have a value at all times, adds the products of their values less `shifts`, behind which
/// stands a number 1, to a matrix. All values of other places become NaN.
TESSERA_CUDA_ONLY void addProductsOverTimeOnCuda(Context&, const PlacesOnCuda&, const double* shifts,
                                                 double* sums);

/// slope of time t = sum_u matrix[t * T + u] (value of time u less its mean) for places that have all values,
/// else 0.
TESSERA_CUDA_ONLY void setSlopesOverTimeOnCuda(Context&, const PlacesOnCuda&, const double* means,
                                               const double* matrix);

}
