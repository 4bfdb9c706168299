#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <string>
#include <vector>

namespace tessera {

/// The points of a legacy VTK polydata file.
struct VtkPoints {
  std::vector<Vec<3>> points;
  std::string cells; // what follows them in an ASCII file; vertices, lines, polygons and strips of a binary
                     // one, as ASCII
};

/// Throws Error(unreadableInput) naming file and line.
VtkPoints readVtkPoints(const std::string& path);

}
