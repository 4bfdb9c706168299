#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/Image.h"
#include "Core/Registration/Transform.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// Maps points of the fixed image (mm) to where the moving image is looked at; in place, one batch.
template <int D>
using PointMap = std::function<void(PointBatch<D>&)>;

/// An image of a file and, unless `maskPath` is empty, its mask. Voxels that are not finite are outside the
/// mask.
template <int D>
struct LoadedSide {
  ImagePointer<D> image;
  MaskPointer<D> mask, finite;      // null: none
  Vec<D> firstVoxel{}, lastVoxel{}; // indices: the box of the voxels in the mask, or of the whole image

  bool mayUse(const Vec<D>& pointMm) const
  {
    return (!mask || mask->contains(pointMm)) && (!finite || finite->contains(pointMm));
  }
};

/// Throws Error with `option` before it: unreadable, of another dimension, one voxel along an axis, or a mask
/// without a voxel in the image.
template <int D>
LoadedSide<D> loadSide(const std::string& option, const std::string& path, const std::string& maskOption,
                       const std::string& maskPath, const ReadingOptions&, int threads, Log&);

/// The grid that landmarks are looked for in: cubic voxels along the axes of the fixed image, about the box
/// of its mask (or the whole image) with `marginVoxels` more on each side.
template <int D>
ImageGeometry<D> workingGrid(const LoadedSide<D>& fixed, double spacingMm, int marginVoxels);

/// The edge of a cube with the volume of a voxel of the image.
template <int D>
double spacingOf(const ImageGeometry<D>&);

/// The image as sampledOn() takes it for this grid: where it is finer than the grid it is smoothed, by the
/// difference of the voxels' variances.
template <int D>
ImagePointer<D> smoothedFor(Context&, const ImageGeometry<D>& grid, const ImagePointer<D>&);

/// The image at map(voxel) for each voxel of the grid, linearly interpolated; border values continue beyond
/// the image. No map: the identity.
template <int D>
ImagePointer<D> sampledOn(const Context&, const ImageGeometry<D>& grid, const Image<D>&,
                          const PointMap<D>& map);

/// The fixed image on the working grid; the mask is 1 in voxels that may be used.
template <int D>
struct WorkingImage {
  ImagePointer<D> image;
  std::vector<std::uint8_t> mask;

  WorkingImage() = default;
  WorkingImage(Context&, const LoadedSide<D>& fixed, double spacingMm, int marginVoxels);
};

/// Where points lie between the voxels of an image, for the values there of this image or of others on its
/// grid.
template <int D>
class LinearPlaces {
public:
  /// For at most a batch of points (mm).
  LinearPlaces(const ImageGeometry<D>&, const AffineMap<D>& indexFromPoint, const PointBatch<D>& points);

  /// The values at the points, linearly interpolated; border values continue beyond the image. `voxels` has a
  /// number every `stride`.
  void values(const float* voxels, float* out, std::size_t stride = 1) const;

private:
  std::size_t count_ = 0;
  std::array<std::size_t, batchCapacity> offset_{};
  std::array<std::array<std::size_t, batchCapacity>, D> step_; // to the next voxel, 0 at the border
  std::array<std::array<float, batchCapacity>, D> share_;      // of the next voxel
};

}
