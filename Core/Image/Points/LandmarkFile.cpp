#include "Core/Image/Points/LandmarkFile.h"

#include "Core/Compute/Error.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/PointTable.h"

#include <array>

namespace tessera {
namespace {

struct DirLabImage {
  const char* name;
  std::size_t inPlane, slices;
  double spacingMm; // in plane; 2.5 mm between slices
};

constexpr std::array<DirLabImage, 20> dirLabImages{{
    {"4DCT1", 256, 94, 0.97},   {"4DCT2", 256, 112, 1.16},   {"4DCT3", 256, 104, 1.15},
    {"4DCT4", 256, 99, 1.13},   {"4DCT5", 256, 106, 1.10},   {"4DCT6", 512, 128, 0.97},
    {"4DCT7", 512, 136, 0.97},  {"4DCT8", 512, 128, 0.97},   {"4DCT9", 512, 128, 0.97},
    {"4DCT10", 512, 120, 0.97}, {"COPD1", 512, 121, 0.625},  {"COPD2", 512, 102, 0.645},
    {"COPD3", 512, 126, 0.652}, {"COPD4", 512, 126, 0.590},  {"COPD5", 512, 131, 0.647},
    {"COPD6", 512, 119, 0.633}, {"COPD7", 512, 112, 0.625},  {"COPD8", 512, 115, 0.586},
    {"COPD9", 512, 116, 0.664}, {"COPD10", 512, 135, 0.742},
}};

const std::string allowedDirLab = "three numbers a line, voxels of an image that count from 1";

LandmarkFormat formatOf(const std::string& path, LandmarkFormat format)
{
  if (format != LandmarkFormat::automatic)
    return format;
  return isPointTable(path)        ? LandmarkFormat::csv
         : hasEnding(path, ".vtk") ? LandmarkFormat::vtk
                                   : LandmarkFormat::elastix;
}

int wordsOfNextLine(TextWords& words)
{
  words.peek(); // moves on to that line
  return static_cast<int>(wordsOf(words.rest().substr(0, words.rest().find('\n'))).size());
}

Landmarks<3> readDirLab(const std::string& path)
{
  TextWords words(path, readPlainText(path), allowedDirLab);
  if (const int count = wordsOfNextLine(words); count != 3 && count != 0)
    words.fail(std::to_string(count) + " words in the first line");
  Landmarks<3> landmarks;
  landmarks.areIndices = true;
  while (!words.peek().empty()) {
    Vec<3> point;
    for (double& index : point) {
      index = words.nextNumber("a voxel number") - 1;
      if (index < 0)
        words.fail("a voxel number below 1");
    }
    landmarks.values.push_back(point);
  }
  return landmarks;
}

template <int D>
Landmarks<D> readAny(const std::string& path, LandmarkFormat format)
{
  if (format == LandmarkFormat::dirlab) {
    if constexpr (D == 3)
      return readDirLab(path);
    failToRead(path, "landmarks of DIR-Lab have 3 coordinates, the others of this case " + std::to_string(D),
               "files of one dimension");
  }
  if (format != LandmarkFormat::csv && hasEnding(path, ".vtk") != (format == LandmarkFormat::vtk))
    failToRead(path, "the ending and the format of landmarks contradict each other",
               "vtk for files that end in .vtk, and for these alone");
  Landmarks<D> points =
      format == LandmarkFormat::csv ? inDimension<D>(readPointTable(path), path) : readPoints<D>(path);
  if (points.flattened > 0)
    failToRead(path, std::to_string(points.flattened) + " points have a third coordinate, the case is 2D",
               "points in the plane");
  return points;
}

}

LandmarkFormat landmarkFormatOf(const std::string& name, const std::string& where)
{
  constexpr const char* names[] = {"automatic", "elastix", "vtk", "dirlab", "csv"};
  for (int i = 0; i < 5; ++i)
    if (name == names[i])
      return static_cast<LandmarkFormat>(i);
  failAs(ExitCode::usage, where, "\"" + name + "\" is no format of landmarks",
         "automatic, elastix, vtk, dirlab, csv");
}

template <int D>
Landmarks<D> readLandmarks(const std::string& path, LandmarkFormat format)
{
  Landmarks<D> landmarks = readAny<D>(path, formatOf(path, format));
  if (landmarks.values.empty())
    failToRead(path, "no points", "a file with at least one point");
  return landmarks;
}

int dimensionOfLandmarks(const std::string& path, LandmarkFormat format)
{
  switch (formatOf(path, format)) {
  case LandmarkFormat::csv:
    return readPointTable(path).coordinates;
  case LandmarkFormat::dirlab:
  case LandmarkFormat::vtk:
    return 3;
  default:
    break;
  }
  TextWords words(path, readPlainText(path), "\"index\" or \"point\", the number of points, then the points");
  if (words.peek() == "point" || words.peek() == "index")
    words.next("");
  words.nextCount("the number of points");
  const int coordinates = wordsOfNextLine(words);
  if (coordinates < 2 || coordinates > 4)
    words.fail(std::to_string(coordinates) + " coordinates in the line of the first point");
  return coordinates;
}

ImageGeometry<3> dirLabGrid(const std::string& name, const std::string& where)
{
  for (const DirLabImage& image : dirLabImages)
    if (name == image.name)
      return {{image.inPlane, image.inPlane, image.slices}, {image.spacingMm, image.spacingMm, 2.5}, {}};
  failAs(ExitCode::usage, where, "\"" + name + "\" is no case of DIR-Lab",
         "4DCT1 to 4DCT10, COPD1 to COPD10");
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readLandmarks<D>);

}
