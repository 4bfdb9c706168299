#include "Core/Image/Points/LandmarkFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/PointsFile.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

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
const std::string allowedCsv =
    "a first line with the columns X and Y, then numbers in pixels, separated by commas";

LandmarkFormat formatOf(const std::string& path, LandmarkFormat format)
{
  if (format != LandmarkFormat::automatic)
    return format;
  const std::string lower = lowerCase(path);
  return lower.ends_with(".csv")   ? LandmarkFormat::csv
         : lower.ends_with(".vtk") ? LandmarkFormat::vtk
                                   : LandmarkFormat::elastix;
}

int wordsOfNextLine(TextWords& words)
{
  words.peek();
  const std::string_view rest = words.rest();
  TextWords line("", std::string(rest.substr(0, rest.find('\n'))), "");
  int count = 0;
  for (; !line.peek().empty(); ++count)
    line.next("");
  return count;
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

std::vector<std::string> cellsOf(std::string line)
{
  if (line.ends_with('\r'))
    line.pop_back();
  std::vector<std::string> cells(1);
  for (const char c : line)
    if (c == ',')
      cells.emplace_back();
    else if (c != '"' && c != ' ' && c != '\t')
      cells.back() += c;
  return cells;
}

Landmarks<2> readCsv(const std::string& path)
{
  Landmarks<2> landmarks;
  landmarks.areIndices = true;
  std::istringstream lines(readWholeFile(path));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = cellsOf(line);
  std::array<std::size_t, 2> column{header.size(), header.size()};
  for (std::size_t i = 0; i < header.size(); ++i)
    for (std::size_t d = 0; d < 2; ++d)
      if (lowerCase(header[i]) == (d == 0 ? "x" : "y"))
        column[d] = i;
  if (column[0] == header.size() || column[1] == header.size())
    failToRead(path + ":1", "no columns X and Y", allowedCsv);
  const bool hasNames = column[0] != 0 && column[1] != 0;
  std::set<std::string> seen;
  std::size_t number = 1;
  while (std::getline(lines, line)) {
    const std::string where = path + ":" + std::to_string(++number);
    const std::vector<std::string> cells = cellsOf(line);
    if (cells.size() == 1 && cells.front().empty())
      continue;
    if (cells.size() != header.size())
      failToRead(where,
                 std::to_string(cells.size()) + " values for " + std::to_string(header.size()) + " columns",
                 allowedCsv);
    Vec<2> point;
    for (std::size_t d = 0; d < 2; ++d) {
      const std::string& cell = cells[column[d]];
      const auto [end, failure] = std::from_chars(cell.data(), cell.data() + cell.size(), point[d]);
      if (failure != std::errc() || end != cell.data() + cell.size() || !std::isfinite(point[d]))
        failToRead(where, "\"" + cell + "\" is no finite number", allowedCsv);
    }
    if (hasNames && !seen.insert(cells.front()).second)
      failToRead(where, "the point \"" + cells.front() + "\" is there twice", "each point once");
    if (hasNames)
      landmarks.names.push_back(cells.front());
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
    failToRead(path, "landmarks of DIR-Lab have three coordinates, the others of this case two",
               "files of one dimension");
  }
  if (format == LandmarkFormat::csv) {
    if constexpr (D == 2)
      return readCsv(path);
    failToRead(path, "landmarks in a csv have two coordinates, the others of this case three",
               "files of one dimension");
  }
  const bool isNamedVtk = path.ends_with(".vtk") || path.ends_with(".VTK");
  if (isNamedVtk != (format == LandmarkFormat::vtk))
    failToRead(path, "the ending and the format of landmarks contradict each other",
               "vtk for files that end in .vtk, and for these alone");
  InputPoints<D> points = readPoints<D>(path);
  if (points.flattened > 0)
    failToRead(path, std::to_string(points.flattened) + " points have a third coordinate, the case is 2D",
               "points in the plane");
  return {points.areIndices, std::move(points.values), {}};
}

}

LandmarkFormat landmarkFormatOf(const std::string& name, const std::string& where)
{
  constexpr const char* names[] = {"automatic", "elastix", "vtk", "dirlab", "csv"};
  for (int i = 0; i < 5; ++i)
    if (name == names[i])
      return static_cast<LandmarkFormat>(i);
  throw Error(ExitCode::usage, where + ": \"" + name
                                   + "\" is no format of landmarks. Allowed: automatic, "
                                     "elastix, vtk, dirlab, csv.");
}

template <int D>
Landmarks<D> readLandmarks(const std::string& path, LandmarkFormat format)
{
  Landmarks<D> landmarks = readAny<D>(path, formatOf(path, format));
  if (landmarks.values.empty())
    failToRead(path, "no points", "a file with at least one point");
  for (const Vec<D>& point : landmarks.values)
    for (const double coordinate : point)
      if (!std::isfinite(coordinate))
        failToRead(path, "a coordinate that is not finite", "finite numbers");
  return landmarks;
}

int dimensionOfLandmarks(const std::string& path, LandmarkFormat format)
{
  switch (formatOf(path, format)) {
  case LandmarkFormat::csv:
    return 2;
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
  if (coordinates != 2 && coordinates != 3)
    words.fail(std::to_string(coordinates) + " coordinates in the line of the first point");
  return coordinates;
}

ImageGeometry<3> dirLabGrid(const std::string& name, const std::string& where)
{
  for (const DirLabImage& image : dirLabImages)
    if (name == image.name)
      return {{image.inPlane, image.inPlane, image.slices}, {image.spacingMm, image.spacingMm, 2.5}, {}};
  throw Error(ExitCode::usage,
              where + ": \"" + name + "\" is no case of DIR-Lab. Allowed: 4DCT1 to 4DCT10, COPD1 to COPD10.");
}

template Landmarks<2> readLandmarks<2>(const std::string&, LandmarkFormat);
template Landmarks<3> readLandmarks<3>(const std::string&, LandmarkFormat);

}
