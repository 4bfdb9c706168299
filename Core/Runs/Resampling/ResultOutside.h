#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// Where about 10,000 voxels of a grid are mapped, at regular steps; in mm. There are more if the last axis
/// is time, or may be, because a chain in 3D moves nothing along it: every time is taken, since a series has
/// few of them, and a few missing ones would be skipped or count twice.
template <int D>
std::vector<Vec<D>> mappedVoxels(const Context& cpu, const TransformChain<D>&, const ImageGeometry<D>& grid);

/// How much of a result lies outside of the image that is resampled to it.
struct ResultOutside {
  double share = 0;    // of the voxels
  std::string warning; // from 95 % on, with the places of both; else empty

  std::string text() const
  {
    return decimals(100 * share, 1) + " % of the voxels of the result lie outside of the moving image.";
  }
};

/// By the mappedVoxels() of the result.
template <int D>
ResultOutside resultOutside(const std::vector<Vec<D>>& mappedMm, const ImageGeometry<D>& image);

}
