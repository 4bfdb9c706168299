#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Runs/Resampling/ImageBatch.h"

namespace tessera {

/// The sizes that decide how much memory of a CUDA device an image takes while it is resampled.
template <int D>
struct SizeOnDevice {
  ImageGeometry<D> grid;
  std::size_t components = 1;
  bool isLabels = false, hasInvalidVoxels = false;
  bool voxelsComeFirst = false;        // see ImageToResample
  PixelType type = PixelType::float32; // of the result
};

/// The size of the image in a file whose voxels may turn out not to be finite.
template <int D>
SizeOnDevice<D> sizeOnDevice(const ImageHeader&, bool isLabels, PixelType ofResult);

/// The memory that the device holds at most, with the preparation of the interpolators.
template <int D>
DeviceMemory memoryOnDevice(const Resampler<D>&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                            const MakeInterpolator<D>&, const SizeOnDevice<D>&);
template <int D>
DeviceMemory memoryOnDevice(const ImageBatch<D>& batch, const SizeOnDevice<D>& size)
{
  return memoryOnDevice<D>(batch.resampler, batch.chain, batch.lattice, batch.makeInterpolator, size);
}

}
