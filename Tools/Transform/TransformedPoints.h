#pragma once

#include "Core/Registration/Transform.h"
#include "Tools/Common/RunLog.h"

#include <optional>
#include <string>

namespace tessera {

/// How the file is called that transformPoints writes for the points of this one.
std::string nameOfOutputPoints(const std::string& path);

/// Maps the points of a file (.txt or .vtk) and writes outputpoints.txt or outputpoints.vtk to the folder.
/// Points given as indices are rounded to whole voxels of `fixedGrid`, as transformix does. With
/// `movingGrid`, the text tells where in it each point falls. Throws Error.
template <int D>
void transformPoints(Context&, const TransformChain<D>&, const std::string& path,
                     const ImageGeometry<D>& fixedGrid, const std::optional<ImageGeometry<D>>& movingGrid,
                     const std::string& folder, RunLog&);

}
