#pragma once

#include "Core/Compute/Math/ErrorStatistics.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// How a transform changes volumes: the determinants of its spatial Jacobian at voxels of the fixed image.
struct VolumeChange : OrderStatistics {
  std::size_t voxelStep = 1; // one of so many voxels along each axis was looked at
  std::size_t voxels = 0;    // so many in all
  std::size_t folded = 0;    // of these have a determinant of 0 or less

  /// One line for a log.
  std::string text() const;
  /// A warning with the usual remedies against folds; empty if there are none. `metrics` are those of the
  /// stage, `gridSpacing` is the name by which its parameters give the spacing of the transform's grid.
  std::string warning(const std::vector<std::string>& metrics, const std::string& gridSpacing) const;

private:
  std::string whichVoxels() const;
};

/// The determinants at the voxels of the fixed image that lie in the mask. Of an image of more than some 300
/// 000 voxels only voxels in regular steps are looked at, 10^6 at most. The context's device computes them if
/// the chain is a B-spline alone, otherwise its CPU threads. Nothing if the chain is linear, or if no such
/// voxel lies in the mask. Throws Error(usage) if a transform of the chain has no spatial derivatives.
template <int D>
std::optional<VolumeChange> volumeChange(const Context&, const Registry&, const TransformChain<D>&,
                                         const ImagePointer<D>& fixed, const MaskPointer<D>& mask);

}
