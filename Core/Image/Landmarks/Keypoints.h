#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"

#include <array>
#include <limits>
#include <span>
#include <vector>

namespace tessera {

/// The number of a voxel along each axis; in 2D the third is 0.
using Voxel = std::array<int, 3>;

inline std::size_t offsetOf(const Size<3>& size, const Voxel& voxel)
{
  return static_cast<std::size_t>(voxel[0])
         + size[0] * (static_cast<std::size_t>(voxel[1]) + size[1] * static_cast<std::size_t>(voxel[2]));
}

/// Voxels that can be found again along every direction, in the order of their offsets (Foerstner and Guelch,
/// "A fast operator for detection and precise location of distinct points, corners and centres of circular
/// features", 1987), in 2D and 3D. With the gradient g by differences (1, -8, 0, 8, -1) / 12 per voxel and
/// A = Gaussian(sigma 1.4 voxels) * g g^T, the distinctiveness is 1 / trace(A^-1). A keypoint is the largest
/// in a cube of 2 floor(cubeVoxels / 2) + 1 voxels and above 1e-5 of the variance of the image in the mask.
/// `mask` has a number for each voxel, 0 is outside; keypoints lie where it holds with all neighbours.
class FoerstnerKeypoints {
public:
  /// On CUDA, which is for 3D alone, the distinctiveness is that of the CPU to rounding. This may decide
  /// between two voxels.
  template <int D>
  FoerstnerKeypoints(Context&, const ImagePointer<D>&, std::span<const std::uint8_t> mask);
  /// The keypoints for cubes of this size, or of the first larger one that leaves no more than `maxCount`.
  /// The mask that the constructor got must still exist.
  std::vector<Voxel> inCubes(const Context&, int cubeVoxels,
                             std::size_t maxCount = std::numeric_limits<std::size_t>::max()) const;

  /// Bytes of the device that the constructor takes for each voxel.
  static constexpr double deviceBytesOfVoxel = sizeof(float) * 9 + 1;
  /// Bytes of the device that it keeps for each voxel.
  static constexpr double keptBytesOfVoxel = sizeof(float) + 1;

private:
  std::vector<Voxel> largestOnCuda(const Context&, int radius) const;
  std::vector<Voxel> largestOnCpu(const Context&, int radius) const;

  Size<3> size_{1, 1, 1};
  std::span<const std::uint8_t> mask_;
  std::vector<float> distinctiveness_; // on the host, or
  Buffer<float> onCuda_;
  Buffer<std::uint8_t> maskOnCuda_;
  float least_ = 0;
};

}
