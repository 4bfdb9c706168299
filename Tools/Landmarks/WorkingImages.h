#pragma once

#include "Core/Image/Image.h"
#include "Core/Registration/Transform.h"
#include "Tools/Common/RunLog.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// Maps points of the fixed image (mm) to where the moving image is looked at; in place, one batch.
using PointMap = std::function<void(PointBatch<3>&)>;

/// An image of a file and, unless `maskPath` is empty, its mask. Voxels that are not finite are outside the
/// mask.
struct LoadedSide {
  ImagePointer<3> image;
  MaskPointer<3> mask, finite; // null: none

  bool mayUse(const Vec<3>& pointMm) const
  {
    return (!mask || mask->contains(pointMm)) && (!finite || finite->contains(pointMm));
  }
};

/// Throws Error with `option` before it: unreadable, not 3D, or a mask without a voxel in the image.
LoadedSide loadSide(const std::string& option, const std::string& path, const std::string& maskOption,
                    const std::string& maskPath, int threads, RunLog&);

/// The grid that landmarks are looked for in: cubic voxels along the axes of the fixed image, about the box
/// of its mask (or the whole image) with `marginVoxels` more on each side.
ImageGeometry<3> workingGrid(const LoadedSide& fixed, double spacingMm, int marginVoxels);

/// The edge of a cube with the volume of a voxel of the image.
double spacingOf(const ImageGeometry<3>&);

/// The image at map(voxel) for each voxel of the grid, linearly interpolated; border values continue beyond
/// the image. An image that is finer than the grid is smoothed before, by the difference of the voxels'
/// variances.
ImagePointer<3> sampledOn(Context&, const ImageGeometry<3>& grid, const Image<3>&, const PointMap& map);

/// The value at a continuous index, linearly interpolated; border values continue beyond the image.
float linearValue(const Image<3>&, const Vec<3>& index);

/// 1 where the voxels of the grid may be used.
std::vector<std::uint8_t> maskOn(const Context&, const ImageGeometry<3>& grid, const LoadedSide&);

}
