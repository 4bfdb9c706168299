#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"

namespace tessera {

/// The voxels of an image, an image of vectors or a mask in the memory of the context's CUDA device. They are
/// copied once: calls with the same stream share the result as long as anyone holds it. The result keeps the
/// image alive.
template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context&, const ImagePointer<D>&);
template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context&,
                                                  const std::shared_ptr<const VectorImage<D>>&);
template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda(const Context&, const MaskPointer<D>&);

/// Whether anyone holds the voxels of the image there, so that voxelsOnCuda copies nothing.
template <int D>
bool areVoxelsOnCuda(const Context&, const ImagePointer<D>&);

/// Registers voxels that are on the device already: as long as anyone holds the result, voxelsOnCuda returns
/// them and copies nothing. The image may have no voxels on the host; then voxelsOnCuda throws
/// std::logic_error once nobody holds the result any more.
template <int D>
std::shared_ptr<const Buffer<float>> shareVoxelsOnCuda(const Context&, const ImagePointer<D>&,
                                                       Buffer<float>&& voxels);
template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> shareVoxelsOnCuda(const Context&, const MaskPointer<D>&,
                                                              Buffer<std::uint8_t>&& voxels);

/// A mask for kernels. `voxels` is null for no mask, which contains every point.
template <int D>
struct MaskOnCuda {
  const std::uint8_t* voxels = nullptr;
  std::array<int, D> size{};
  PointToIndex<D> pointToIndex{};

  MaskOnCuda() = default;
  MaskOnCuda(const Mask<D>& mask, const Buffer<std::uint8_t>& onCuda)
      : voxels(onCuda.span().data()), pointToIndex(mask.pointToIndex)
  {
    for (int d = 0; d < D; ++d)
      size[d] = static_cast<int>(mask.geometry.size[d]);
  }

  /// Mask::contains for kernels.
  TESSERA_HOST_DEVICE bool contains(const Vec<D>& pointMm) const
  {
    std::size_t voxel;
    return voxels == nullptr
           || (findNearestVoxel<D>(size, pointToIndex(pointMm), voxel) && voxels[voxel] != 0);
  }
};

}
