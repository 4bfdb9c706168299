#pragma once

// Masks for scenes of terms and resamplers.

#include "Testing/Support/Checks/TermChecks.h"

namespace tessera::testing {

/// Every second voxel along each axis is inside, so that each wrong neighbour shows.
template <int D>
MaskPointer<D> checkerboard(const ImageGeometry<D>& geometry)
{
  std::vector<std::uint8_t> voxels(geometry.voxelCount());
  for (std::size_t v = 0; v < voxels.size(); ++v) {
    std::size_t rest = v, sum = 0;
    for (int d = 0; d < D; rest /= geometry.size[d++])
      sum += rest % geometry.size[d];
    voxels[v] = sum % 2 == 0;
  }
  return std::make_shared<Mask<D>>(geometry, std::move(voxels));
}

/// Both masks of the scene become one ball about the centre of its fixed image.
inline void useMasksOfABall(TermScene<3>& scene)
{
  const auto ball = [&](const Vec<3>& p) {
    return Ellipsoid<3>{scene.fixed->geometry.centerMm(), {14, 13, 15}}(p) > 0;
  };
  scene.level.fixedMask = std::make_shared<Mask<3>>(drawMask<3>(scene.fixed->geometry, ball));
  scene.level.movingMask = std::make_shared<Mask<3>>(drawMask<3>(scene.moving->geometry, ball));
}

}
