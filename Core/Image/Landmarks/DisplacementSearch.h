#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Core/Image/Landmarks/Keypoints.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// The displacements -reach, -reach + step, ..., reach voxels along each axis, x fastest.
struct DisplacementGrid {
  int reach = 16, step = 2; // voxels; reach is a multiple of step
  int axes = 3;             // 2 in 2D, which has no CUDA form

  int perAxis() const { return 2 * reach / step + 1; }
  std::size_t count() const
  {
    const auto n = static_cast<std::size_t>(perAxis());
    return axes == 2 ? n * n : n * n * n;
  }
};

/// For each keypoint and displacement the mean squared difference between the descriptors in the cube of
/// 2 patchRadius + 1 voxels about the keypoint in `here` and about the displaced place in `there`, where
/// descriptors are from 0 to 1; border voxels continue beyond the image. grid.count() numbers a keypoint.
template <int D>
std::vector<float> searchCosts(const Context&, const SelfSimilarityDescriptor<D>& here,
                               const SelfSimilarityDescriptor<D>& there, std::span<const Voxel> keypoints,
                               std::span<const Voxel> startsThere, const DisplacementGrid&, int patchRadius);

/// A SelfSimilarityDescriptor on a CUDA device: the numbers of a voxel as three words of four bytes.
struct DescriptorOnCuda {
  const std::uint32_t* words = nullptr;
  std::array<int, 3> size{};
};

/// The descriptors of an image on the context's device, in 2D on the CPU: 12 bytes a voxel, in 2D 4.
template <int D>
class DescribedImage {
public:
  /// On CUDA some numbers differ by 1 from those of the CPU (selfSimilaritiesOnCuda).
  DescribedImage(Context&, const ImagePointer<D>&);

  const Size<D>& size() const { return size_; }
  /// Bytes of the device that making one takes for each voxel, with the image.
  static constexpr double deviceBytesOfVoxel = 12 + 48 + sizeof(float);

  const SelfSimilarityDescriptor<D>& onCpu() const { return onCpu_; }
  DescriptorOnCuda onCuda() const;

private:
  Size<D> size_;
  SelfSimilarityDescriptor<D> onCpu_;
  Buffer<std::uint8_t> onCuda_;
};

/// Computes the same costs of images that were described on the context's device. Equal descriptors have
/// costs with the same bits on the CPU and on CUDA.
template <int D>
std::vector<float> searchCosts(const Context&, const DescribedImage<D>& here, const DescribedImage<D>& there,
                               std::span<const Voxel> keypoints, std::span<const Voxel> startsThere,
                               const DisplacementGrid&, int patchRadius);

/// Where the costs of a keypoint are least: the displacement in voxels, refined by a parabola along each
/// axis, and the curvature of the costs there along each axis, in 1/voxel^2. At the edge of the grid there is
/// no parabola, and the curvature is 0.
struct LeastCost {
  Vec<3> displacement{}, curvature{};
  float cost = 0;
};
LeastCost leastCost(std::span<const float> costs, const DisplacementGrid&);

/// Moves a place of least cost to the minimum of the parabola through it and its neighbours along an axis,
/// `step` voxels before and after it.
void refine(LeastCost&, int axis, int step, double costBefore, double costAfter);

}
