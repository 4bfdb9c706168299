#pragma once

#include "Core/Image/ImageGeometry.h"

#include <string>
#include <vector>

namespace tessera {

/// Points as their file gives them.
template <int D>
struct InputPoints {
  bool areIndices = false; // voxel indices of the fixed image; otherwise LPS mm
  std::vector<Vec<D>> values;
  std::string cells; // of a .vtk file: its lines after the points, as legacy ASCII; empty for text files
  std::size_t flattened =
      0; // points of a .vtk file whose third coordinate is not zero and was left out, in 2D
};

/// Reads elastix's text ("index" or "point" or nothing, which means index; a count; D numbers a point) or, if
/// the name ends in .vtk, legacy polydata, ASCII or binary, three coordinates a point of which 2D takes the
/// first two. Throws Error(unreadableInput) naming file and line: no such file, a count that does not match,
/// not a number.
template <int D>
InputPoints<D> readPoints(const std::string& path);

/// The points in mm; indices are first rounded to the nearest voxel (half up), as transformix does.
template <int D>
std::vector<Vec<D>> pointsInMm(const InputPoints<D>& points, const ImageGeometry<D>& fixedGrid);

/// Points and where they were mapped to.
template <int D>
struct MappedPoints {
  const std::vector<Vec<D>>& inputMm;
  const std::vector<Vec<D>>& outputMm;
  const ImageGeometry<D>& fixedGrid;
  const ImageGeometry<D>* movingGrid = nullptr; // null: OutputIndexMoving is not written
};

/// The lines of transformix's outputpoints.txt: six decimals, indices rounded half up, the deformation
/// rounded to float first.
template <int D>
std::string outputPointsText(const MappedPoints<D>& points);

/// transformix's outputpoints.vtk: legacy ASCII polydata, doubles in the fewest digits that read back equal,
/// z = 0 in 2D.
template <int D>
std::string outputPointsVtk(const std::vector<Vec<D>>& pointsMm, const std::string& cells);

}
