#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"
#include "Core/Image/Voxels/PixelType.h"

#include <limits>
#include <optional>

namespace tessera {

/// The least and the greatest intensity of an image, and the values next to them. NaN is left out.
struct VoxelExtremes {
  float least = std::numeric_limits<float>::infinity(), nextLeast = least, greatest = -least,
        nextGreatest = -least;
  unsigned long long nonFinite = 0; // voxels that are NaN or infinite

  TESSERA_HOST_DEVICE void takeBelow(float value)
  {
    if (value < least) {
      nextLeast = least;
      least = value;
    } else if (value > least && value < nextLeast) {
      nextLeast = value;
    }
  }
  TESSERA_HOST_DEVICE void takeAbove(float value)
  {
    if (value > greatest) {
      nextGreatest = greatest;
      greatest = value;
    } else if (value < greatest && value > nextGreatest) {
      nextGreatest = value;
    }
  }
  TESSERA_HOST_DEVICE void merge(const VoxelExtremes& other)
  {
    takeBelow(other.least);
    takeBelow(other.nextLeast);
    takeAbove(other.greatest);
    takeAbove(other.nextGreatest);
    nonFinite += other.nonFinite;
  }
};

/// An image whose voxels lie on the context's CUDA device alone, where they stay as long as anyone has the
/// image. voxelsOnCuda finds them there from every stream of the device. Waits for the context's stream.
template <int D>
ImagePointer<D> imageOnCuda(const Context&, const ImageGeometry<D>&,
                            std::shared_ptr<const Buffer<float>> voxels);

/// Copies voxels that others own on the context's device, x fastest, into an image that lies there alone.
/// Waits for the default stream of the others. Null: some voxels are no finite numbers, or none that a float
/// holds, and the host has to tell. Throws Error(unreadableInput) for a geometry that makes no sense.
template <int D>
ImagePointer<D> imageOfOthersOnCuda(const std::string& name, const Context&, const void* voxels, PixelType,
                                    const ImageGeometry<D>&);

/// Null unless the voxels of the image lie on this device alone. They keep the image alive.
template <int D>
std::shared_ptr<const Buffer<float>> ownVoxelsOnCuda(const Device&, const ImagePointer<D>&);

/// The voxels of an image in host memory. Those that lie on a device alone are copied once, by the first one
/// who asks: on the CPU a run asks for all of its images, and on CUDA whoever reads Image::voxels.
template <int D>
const std::vector<float>& hostVoxels(const ImagePointer<D>&);

/// The number of voxels that hostVoxels() returns, without a copy of them.
template <int D>
std::size_t voxelsInMemory(const ImagePointer<D>&);

/// The extremes of an image whose voxels lie on a CUDA device: on any one alone, or on that of the context,
/// too. None: of others.
template <int D>
std::optional<VoxelExtremes> extremesOnCuda(const Context&, const ImagePointer<D>&);

/// The parts of these functions that need CUDA.
TESSERA_CUDA_ONLY VoxelExtremes findExtremesOnCuda(const Context&, std::span<const float> voxels);
TESSERA_CUDA_ONLY void waitForDefaultStream(const Context&);

}
