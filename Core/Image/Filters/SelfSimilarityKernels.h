#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/Filters/SelfSimilarityFormula.h"

// The kernels of selfSimilaritiesOnCuda. All arrays lie on the context's CUDA device.
namespace tessera::selfsimilarity {

constexpr unsigned maxBlocksOfMean = 1056;
/// Partial sums of meanVariance: one a warp.
constexpr std::size_t meanScratch = std::size_t(maxBlocksOfMean) * 8;

struct MeanVariance {
  double sum[1]; // over all voxels
  unsigned blocksDone;
};

/// squares[v] = (I(v + a) - I(v + b))^2. Reads each voxel from memory once, writes 4 bytes.
template <int D>
TESSERA_CUDA_ONLY void squaredDifferences(Context&, const float* voxels, const std::array<int, D>& size,
                                          const NeighbourPair<D>&, float* squares);

/// Adds V of all voxels; `mean` is all zero before. `differences` are planar: one array a channel. `scratch`
/// holds meanScratch doubles.
template <int D>
TESSERA_CUDA_ONLY void sumVariances(Context&, const float* differences, std::size_t count, double* scratch,
                                    MeanVariance* mean);

/// The numbers of all voxels, the channels of a voxel side by side.
template <int D>
TESSERA_CUDA_ONLY void writeNumbers(Context&, const float* differences, std::size_t count,
                                    const MeanVariance* mean, std::uint8_t* numbers);

}
