#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// A descriptor of each voxel that changes little between images of different contrast, 12 numbers in 3D and
/// 4 in 2D: MIND with the self-similarity context (Heinrich et al., "Towards realtime multimodal fusion for
/// image-guided interventions using self-similarities", MICCAI 2013). For the pairs (a, b) of neighbours that
/// do not lie opposite, 12 in 3D and 4 in 2D,
///
///   D_k = Gaussian(sigma 1) * (I(x + a) - I(x + b))^2,  D_k -= min_k D_k,  V = mean_k D_k,
///   number k = exp(-D_k / V), with V clamped to [0.001, 1000] times its mean over the image,
///
/// stored as 0 to 255, so that sums of squared differences are whole numbers.
template <int D>
struct SelfSimilarityDescriptor {
  static constexpr std::size_t channels = D == 3 ? 12 : 4;

  Size<D> size{};
  std::vector<std::uint8_t> values; // number k of voxel v at channels * v + k

  SelfSimilarityDescriptor() = default;
  /// The neighbours of x are x + c and x - c for each column c of `steps` (in voxels), and the Gaussian has
  /// sigma 1 in units of these columns. Between voxels, intensities are interpolated linearly; beyond the
  /// image they are those of its border. Throws Error(outOfMemory) if there is too little memory.
  SelfSimilarityDescriptor(Context&, const Image<D>&, const Matrix<D>& steps = identityMatrix<D>());
};

/// The `values` of a SelfSimilarityDescriptor on the context's CUDA device; `voxels` is an array there, x
/// fastest. Some numbers differ by 1 from those of the CPU: the Gaussian is in single precision. The context
/// may be that of a MemoryCount.
///
/// While it runs it takes 48 bytes a voxel in 3D, 16 in 2D. Traffic in 3D: about 500 bytes a voxel.
template <int D>
Buffer<std::uint8_t> selfSimilaritiesOnCuda(Context&, const float* voxels, const Size<D>& size,
                                            const Matrix<D>& steps = identityMatrix<D>());

}
