#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Samples/SampleKernels.h"

#include <array>
#include <cstddef>
#include <cstdint>

// The kernels of the metrics of a series. All arrays lie on the context's CUDA device.
namespace tessera {

/// Some places of a series, each at several times. Number k of place i is entry k * places + i.
struct PlacesOnCuda {
  std::size_t places = 0, times = 0;
  float* values = nullptr; // of the moving image at T(x, t); NaN outside of it or its mask
  float* slopes = nullptr; // derivative by the value, which the metric sets; null without a gradient

  TESSERA_HOST_DEVICE std::size_t entries() const { return places * times; }
};

/// The times of a series along its last axis.
struct TimeAxis {
  double origin = 0, spacing = 1;
};

/// Writes the points of the entries of a batch of samples from `first` on, D planar arrays; NaN where the
/// mask leaves out the sample. Adds the number of samples that the mask contains to *asked, unless null.
template <int D>
TESSERA_CUDA_ONLY void spreadOverTimeOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                            const PlacesOnCuda&, const std::uint32_t* timeOf, const TimeAxis&,
                                            double* pointMm, unsigned long long* asked);

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
/// The number of doubles that addVariancesOnCuda works in.
constexpr std::size_t varianceScratch = 2 * maxVarianceBlocks;

/// Adds the variances of places, and the number of places that have one, to two sums, and sets the slopes.
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
