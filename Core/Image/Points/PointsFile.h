#pragma once

#include "Core/Image/Points/PointsOutside.h"

#include <string>
#include <vector>

namespace tessera {

/// The kind of a file of points, as its name says: "vtk", "bin" or "txt".
std::string kindOfPointsFile(const std::string& path);

/// The content of a file of points.
template <int D>
struct InputPoints {
  bool areIndices = false; // voxel indices of the fixed image; otherwise LPS mm
  std::vector<Vec<D>> values;
  std::string cells;         // lines of a .vtk file after its points, as legacy ASCII; empty for text files
  int coordinates = 3;       // that a .vtk file has for a point
  std::size_t flattened = 0; // in 2D, points of a file with three coordinates whose third is not 0
  bool inRas = false;        // a .vtk file has the points in RAS, by its title or its field SPACE
  std::vector<std::string> names = {}; // of the points in a .csv file with such a column; otherwise empty
};

/// Reads a file of points. A text file of elastix has "index", "point" or neither (then indices), a count,
/// and D numbers a point; of an outputpoints.txt the mapped points are read. A file whose name ends in .vtk
/// is legacy polydata, ASCII or binary, with three coordinates a point, of which 2D uses the first two, or in
/// 2D with two, as ITK writes it; a title or field with SPACE=RAS, as of 3D Slicer, turns them into LPS. A
/// file whose name ends in .bin is one of ClearMap: 1 for indices or 0 for mm, and the number of points, as
/// 64-bit whole numbers, then D doubles a point, all little-endian (ClearMap/Alignment/Elastix.py,
/// write_points). Tables and files of 3D Slicer: readPointTable. Throws Error(unreadableInput) with file and
/// line: no such file, a wrong count, or not a number.
template <int D>
InputPoints<D> readPoints(const std::string& path);

/// The points in mm. Indices are rounded to the nearest voxel (half up) first, as transformix does.
template <int D>
std::vector<Vec<D>> pointsInMm(const InputPoints<D>& points, const ImageGeometry<D>& fixedGrid);

/// Points and the points to which they were mapped, with the grids in which their indices are written; null:
/// an index is not written.
template <int D>
struct MappedPoints {
  const std::vector<Vec<D>>& inputMm;
  const std::vector<Vec<D>>& outputMm;
  const ImageGeometry<D>* inputGrid;            // InputIndex
  const ImageGeometry<D>* fixedGrid;            // OutputIndexFixed
  const ImageGeometry<D>* movingGrid = nullptr; // OutputIndexMoving
  SharesOutside outside = {};
};

/// The text of transformix's outputpoints.txt: six decimals, indices rounded half up, the deformation first
/// rounded to float.
template <int D>
std::string outputPointsText(const MappedPoints<D>& points);

/// The bytes of ClearMap's outputpoints.bin: the mapped points in mm, or `asIndices` of the fixed grid,
/// rounded half up.
template <int D>
std::string outputPointsBinary(const MappedPoints<D>& points, bool asIndices);

/// The text of transformix's outputpoints.vtk: legacy ASCII polydata, doubles in the fewest digits that read
/// back equal, with the cells, coordinates and space of the input. In 2D a third coordinate is 0; ITK reads
/// points of 2D images with two coordinates alone, VTK with three.
template <int D>
std::string outputPointsVtk(const std::vector<Vec<D>>& pointsMm, const InputPoints<D>& input);

}
