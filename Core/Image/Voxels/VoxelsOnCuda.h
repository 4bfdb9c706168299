#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/Image.h"

namespace tessera {

/// The voxels of an image, of vectors too, or of a mask, in the memory of the context's CUDA device. Copied
/// there once: as long as anyone holds the result, all who ask with the same stream share it. It keeps the
/// image alive.
template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context&, const ImagePointer<D>&);
template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context&,
                                                  const std::shared_ptr<const VectorImage<D>>&);
template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda(const Context&, const MaskPointer<D>&);

/// Whether anyone holds them there, so that voxelsOnCuda copies nothing.
template <int D>
bool areVoxelsOnCuda(const Context&, const ImagePointer<D>&);

/// Voxels that came to the device in another way: as long as anyone holds the result, voxelsOnCuda gives
/// these and copies nothing. The host may have none of them: then that is an error (std::logic_error)
/// afterwards.
template <int D>
std::shared_ptr<const Buffer<float>> shareVoxelsOnCuda(const Context&, const ImagePointer<D>&,
                                                       Buffer<float>&& voxels);
template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> shareVoxelsOnCuda(const Context&, const MaskPointer<D>&,
                                                              Buffer<std::uint8_t>&& voxels);

/// Mask as kernels see it; `voxels` is null for none, which contains every point.
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

  /// As Mask::contains.
  TESSERA_HOST_DEVICE bool contains(const Vec<D>& pointMm) const
  {
    std::size_t voxel;
    return voxels == nullptr
           || (findNearestVoxel<D>(size, pointToIndex(pointMm), voxel) && voxels[voxel] != 0);
  }
};

}
