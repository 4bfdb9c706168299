#pragma once

#include "Core/Image/Points/PointsFile.h"

#include <string>

namespace tessera {

/// Whether the path ends in .csv, or in .fcsv or .json, as 3D Slicer names files of landmarks.
bool isPointTable(const std::string& path);

/// Reads points of a table with commas by the columns of its first line: X and Y are pixels that count from 0
/// (BIRL, CIMA); x, y, z beside t are LPS mm (ANTs), as are l, p, s and x_mm, y_mm, z_mm; r, a, s are RAS mm.
/// Another first column names the points. Reads .fcsv and .mrk.json by the LPS or RAS that 3D Slicer has
/// written in them. Throws Error(unreadableInput) with file and line: a table that does not say what its
/// numbers are, not a number.
InputPoints<3> readPointTable(const std::string& path);

/// The first D coordinates of points. Throws Error(unreadableInput) if the file has fewer.
template <int D>
InputPoints<D> inDimension(const InputPoints<3>&, const std::string& path);

}
