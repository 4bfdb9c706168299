#pragma once

#include "Core/Image/Points/PointsFile.h"

#include <string>

namespace tessera {

/// How a file of landmarks is written. automatic: .csv, .fcsv and .json are csv, .vtk is vtk, others are
/// elastix.
enum class LandmarkFormat {
  automatic,
  elastix, // "point" (mm, LPS) or "index" (voxels from 0), the number of points, the points
  vtk,     // legacy polydata, mm, LPS
  dirlab,  // DIR-Lab: a line a point, three voxel numbers that count from 1
  csv,     // a table, or a file of 3D Slicer: readPointTable
};

/// The format of the name automatic, elastix, vtk, dirlab or csv. Throws Error(usage) with `where`.
LandmarkFormat landmarkFormatOf(const std::string& name, const std::string& where);

/// The content of a file of landmarks. Indices count from 0 in every format and may be fractional.
template <int D>
using Landmarks = InputPoints<D>;

/// Reads landmarks. Throws Error(unreadableInput) with file and line: no such file, no points, a wrong header
/// or count, not a finite number, a DIR-Lab number below 1; or a format that D does not have.
template <int D>
Landmarks<D> readLandmarks(const std::string& path, LandmarkFormat);

/// The number of coordinates a point of the file has, 2 to 4. Throws Error(unreadableInput).
int dimensionOfLandmarks(const std::string& path, LandmarkFormat);

/// The grid of an image of DIR-Lab with the sizes and spacings published at dir-lab.com, its first voxel at 0
/// mm: 4DCT1 to 4DCT10 (Castillo et al. 2009), COPD1 to COPD10 (Castillo et al. 2013). Throws Error(usage)
/// with `where` for another name.
ImageGeometry<3> dirLabGrid(const std::string& name, const std::string& where);

}
