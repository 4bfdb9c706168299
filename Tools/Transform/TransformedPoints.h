#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>

namespace tessera {

/// The name of the file that transformPoints writes for this file of points.
std::string nameOfOutputPoints(const std::string& path);

/// How points are mapped, and the grids of their indices; null: such indices are not known.
template <int D>
struct PointsTransform {
  std::shared_ptr<const TransformChain<D>> chain;
  const Registry* inverseBy = nullptr;          // not null: the points are mapped by the inverse of the chain
  const ImageGeometry<D>* inputGrid = nullptr;  // of the points of the file
  const ImageGeometry<D>* fixedGrid = nullptr;  // of the mapped points, in the fixed image
  const ImageGeometry<D>* movingGrid = nullptr; // of the mapped points, in the moving image
};

/// Maps the points of a file (.txt or .vtk) and writes outputpoints.txt or outputpoints.vtk to the folder.
/// Points that the file states as indices are rounded to whole voxels of `inputGrid`, as transformix does.
/// Throws Error.
template <int D>
void transformPoints(Context&, const PointsTransform<D>&, const std::string& path, const std::string& folder,
                     Log&);

}
