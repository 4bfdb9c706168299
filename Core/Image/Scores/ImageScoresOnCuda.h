#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Scores/ImageScores.h"
#include "Core/Image/Scores/SimilarityFormula.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

// Sums over two images for imageScores(), in double precision and in an order that the number of voxels alone
// decides.
namespace tessera {

/// Two images on the context's CUDA device, and 0 where voxels do not count (null: all count).
struct ImagePairOnCuda {
  const float *a = nullptr, *b = nullptr;
  const std::uint8_t* use = nullptr;
  Size<3> size{1, 1, 1}; // in 2D the third is 1
};

/// Sums over the voxels that count.
struct ScoreSums {
  static constexpr int count = 5;
  std::array<double, count> values{};
  std::array<float, 2> least{HUGE_VALF, HUGE_VALF}, largest{-HUGE_VALF, -HUGE_VALF}; // of a, b

  /// Adds the sums over other voxels.
  void add(const ScoreSums& part)
  {
    for (std::size_t n = 0; n < count; ++n)
      values[n] += part.values[n];
    for (std::size_t k = 0; k < 2; ++k) {
      least[k] = std::min(least[k], part.least[k]);
      largest[k] = std::max(largest[k], part.largest[k]);
    }
  }
};

/// 1, a, b, and the extremes.
TESSERA_CUDA_ONLY ScoreSums scoreExtremesOnCuda(const Context&, const ImagePairOnCuda&);
/// With x = a - mean and y = b - mean: x x, y y, x y, |a - b|, (a - b)^2.
TESSERA_CUDA_ONLY ScoreSums scoreMomentsOnCuda(const Context&, const ImagePairOnCuda&,
                                               const std::array<double, 2>& mean);
/// |x scale - y scale| and its square.
TESSERA_CUDA_ONLY ScoreSums standardScoresOnCuda(const Context&, const ImagePairOnCuda&,
                                                 const std::array<double, 2>& mean,
                                                 const std::array<double, 2>& scale);
/// Counts of pairs of bins, those of `a` fastest.
TESSERA_CUDA_ONLY std::vector<std::uint32_t> scoreHistogramOnCuda(const Context&, const ImagePairOnCuda&,
                                                                  const std::array<float, 2>& least,
                                                                  const std::array<double, 2>& binsAValue);
/// The sum of structural similarities over windows that lie in the images and count, and their number.
TESSERA_CUDA_ONLY std::array<double, 2> similaritySumsOnCuda(const Context&, const ImagePairOnCuda&,
                                                             const similarity::Window&, double c1, double c2);

}
