#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Vectors/VectorOps.h"

// The functions of VectorOps.h for contexts on a CUDA device, where the spans lie.
namespace tessera::oncuda {

/// Waits for the device.
TESSERA_CUDA_ONLY std::vector<double> dots(const Context&, std::span<const VectorPair>);
/// Writes a . b of each pair to memory of the device, or to pinned memory of the host, without waiting.
TESSERA_CUDA_ONLY void dotsInto(const Context&, std::span<const VectorPair>, double* results);
TESSERA_CUDA_ONLY double largestMagnitude(const Context&, std::span<const double> a);

/// y_i = a x_i + b y_i; y is not read if b is 0.
TESSERA_CUDA_ONLY void combine(const Context&, double a, std::span<const double> x, double b,
                               std::span<double> y);
TESSERA_CUDA_ONLY void sumInto(const Context&, std::span<const WeightedVector>, std::span<const double> z,
                               std::span<double> y);
TESSERA_CUDA_ONLY void addBounded(const Context&, double factor, std::span<const double> x, double bound,
                                  std::span<double> y);
TESSERA_CUDA_ONLY void multiplyInto(const Context&, std::span<const double> a, std::span<const double> b,
                                    std::span<double> y);
TESSERA_CUDA_ONLY void divideInto(const Context&, std::span<const double> a, std::span<const double> b,
                                  std::span<double> y);
TESSERA_CUDA_ONLY void fill(const Context&, double value, std::span<double> y);
/// y_i = x_i, rounded to float
TESSERA_CUDA_ONLY void toFloat(const Context&, std::span<const double> x, std::span<float> y);
/// y += x
TESSERA_CUDA_ONLY void add(const Context&, std::span<const float> x, std::span<float> y);

}
