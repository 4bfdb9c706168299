#pragma once

#include "Core/Registration/Transform.h"
#include "Tools/Common/RunLog.h"

#include <optional>
#include <string>

namespace tessera {

/// The name of the file that transformPoints writes for this file of points.
std::string nameOfOutputPoints(const std::string& path);

/// Maps the points of a file (.txt or .vtk) and writes outputpoints.txt or outputpoints.vtk to the folder.
/// Points that the file states as indices are rounded to whole voxels of `fixedGrid`, as transformix does.
/// With `movingGrid`, the text has the index of each mapped point in it. Throws Error.
template <int D>
void transformPoints(Context&, const TransformChain<D>&, const std::string& path,
                     const ImageGeometry<D>& fixedGrid, const std::optional<ImageGeometry<D>>& movingGrid,
                     const std::string& folder, RunLog&);

}
