#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Files/ImageFile.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// An image whose voxels are finite numbers.
template <int D>
struct CheckedImage {
  ImagePointer<D> image;
  std::size_t nanVoxels = 0;     // the number of voxels that were NaN or infinite and are 0 now
  MaskPointer<D> finiteVoxels{}; // null if there are no such voxels
};

/// Throws Error(unreadableInput), in the words of readImage(), if the geometry of an image in memory makes no
/// sense, or if there is not one voxel in memory for each voxel of the grid. Messages call the image `name`.
template <int D>
void checkInMemory(const std::string& name, const ImageGeometry<D>&, std::size_t voxelsInMemory);

/// Checks an image in memory as readImage() checks a file, on the context's device if its voxels lie there.
/// The image is shared; it is copied only if it has voxels that are not finite. Throws
/// Error(unreadableInput).
template <int D>
CheckedImage<D> checkedImage(const Context&, const std::string& name, const ImagePointer<D>&);

/// Checks a mask in memory as readMask() checks a file. Throws Error(unreadableInput).
template <int D>
void checkMask(const std::string& name, const Mask<D>&);

/// Voxels that others own, at any distances in memory. They need not be aligned for their type.
template <int D>
struct StridedVoxels {
  const void* first = nullptr; // the voxel of index 0
  PixelType type = PixelType::float32;
  std::array<std::ptrdiff_t, D> stepBytes{}; // to the next voxel along each axis; may be negative
};

/// Copies voxels, as readImage() reads those of a file. Throws as checkedImage(), and Error(outOfMemory).
template <int D>
LoadedImage<D> imageFromStrided(const std::string& name, const StridedVoxels<D>&, const ImageGeometry<D>&,
                                std::vector<std::string>& notes, int threads);

/// Copies a mask, as readMask() reads that of a file. Throws as checkMask(), and Error(outOfMemory).
template <int D>
Mask<D> maskFromStrided(const std::string& name, const StridedVoxels<D>&, const ImageGeometry<D>&,
                        int threads);

}
