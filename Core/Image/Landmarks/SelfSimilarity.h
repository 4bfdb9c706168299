#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// A descriptor of 12 numbers a voxel that contrasts of other images keep: MIND with the self-similarity
/// context (Heinrich et al., "Towards realtime multimodal fusion for image-guided interventions using
/// self-similarities", MICCAI 2013). For the 12 pairs (a, b) of the six neighbours whose distance is sqrt 2
/// voxels
///
///   D_k = Gaussian(sigma 1 voxel) * (I(x + a) - I(x + b))^2,  D_k -= min_k D_k,  V = mean_k D_k,
///   number k = exp(-D_k / V), with V clamped to [0.001, 1000] times its mean over the image,
///
/// stored as 0 to 255, so that sums of squared differences are whole numbers.
struct SelfSimilarity {
  static constexpr std::size_t channels = 12;

  Size<3> size{};
  std::vector<std::uint8_t> values; // number k of voxel v at channels * v + k

  SelfSimilarity() = default;
  SelfSimilarity(Context&, const Image<3>&);
};

}
