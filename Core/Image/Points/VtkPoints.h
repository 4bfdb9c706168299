#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <string>
#include <vector>

namespace tessera {

/// The points of a legacy VTK polydata file.
struct VtkPoints {
  std::vector<Vec<3>> points; // the third coordinate is 0 if the file has two a point
  int coordinates = 3;        // of a point in the file: VTK writes three, ITK as many as the dimension
  // The data after the points of an ASCII file, or the vertices, lines, polygons and strips of a binary one
  // as ASCII.
  std::string cells;
};

/// Reads such a file. Throws Error(unreadableInput) with file and line.
VtkPoints readVtkPoints(const std::string& path);

}
