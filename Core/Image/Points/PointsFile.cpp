#include "Core/Image/Points/PointsFile.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/VtkPoints.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

namespace tessera {
namespace {

const std::string allowedText =
    "\"index\" or \"point\", the number of points, and one number an axis for each point, all with blanks or "
    "line breaks between them";

std::size_t countWords(std::string_view text)
{
  std::size_t words = 0;
  bool isInWord = false;
  for (const char c : text) {
    const bool isSpace = std::isspace(static_cast<unsigned char>(c)) != 0;
    words += !isSpace && !isInWord;
    isInWord = !isSpace;
  }
  return words;
}

/// Fails if as many numbers as the first point's line has, for each point, make the whole file, and these are
/// not D. With commas or semicolons they are no numbers, which the next one to be read tells.
template <int D>
void checkCoordinates(TextWords& words, std::size_t points)
{
  words.peek(); // moves on to the line of the first point
  const std::string_view rest = words.rest();
  const std::string_view first = rest.substr(0, rest.find('\n'));
  const std::size_t coordinates = countWords(first);
  if (first.find_first_of(",;") == std::string_view::npos && coordinates != D && coordinates > 0
      && coordinates * points == countWords(rest))
    words.fail(std::to_string(coordinates) + " coordinates a point, the transform has " + std::to_string(D));
}

template <int D>
InputPoints<D> readText(const std::string& path)
{
  TextWords words(path, readPlainText(path), allowedText);
  InputPoints<D> points;
  points.areIndices = true;
  if (words.peek() == "point" || words.peek() == "index")
    points.areIndices = words.next("") == "index";
  const std::size_t count = words.nextCount("the number of points");
  checkCoordinates<D>(words, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (words.peek().empty())
      words.fail("the file ends after " + std::to_string(i) + " of " + std::to_string(count) + " points");
    Vec<D> point;
    for (double& coordinate : point)
      coordinate = words.nextNumber("a coordinate");
    points.values.push_back(point);
  }
  if (!words.peek().empty())
    words.fail("\"" + std::string(words.peek()) + "\" follows the last of " + std::to_string(count)
               + " points of " + std::to_string(D) + " coordinates");
  return points;
}

template <int D>
Vec<D> nearestIndex(const Vec<D>& index)
{
  Vec<D> nearest;
  for (int d = 0; d < D; ++d)
    nearest[d] = std::floor(index[d] + 0.5);
  return nearest;
}

/// Rounds by way of memory: when GCC 12 vectorizes this for two numbers it removes both conversions.
double roundedToFloat(double value)
{
  const volatile float rounded = static_cast<float>(value);
  return rounded;
}

void append(std::string& text, const char* format, double value)
{
  char number[400]; // 1e308 with six decimals has 316 characters
  std::snprintf(number, sizeof number, format, value);
  text += number;
}

template <int D>
void appendField(std::string& text, const char* name, const char* format, const Vec<D>& values)
{
  text.append("\t; ").append(name).append(" = [ ");
  for (const double value : values) {
    append(text, format, value == 0 ? 0.0 : value); // no -0
    text += ' ';
  }
  text += ']';
}

}

template <int D>
InputPoints<D> readPoints(const std::string& path)
{
  if (!path.ends_with(".vtk") && !path.ends_with(".VTK"))
    return readText<D>(path);
  VtkPoints vtk = readVtkPoints(path);
  InputPoints<D> points;
  if (vtk.coordinates < D)
    throw Error(ExitCode::unreadableInput, path + ": " + std::to_string(vtk.coordinates)
                                               + " coordinates a point. Allowed: " + std::to_string(D) + ".");
  points.cells = std::move(vtk.cells);
  points.coordinates = vtk.coordinates;
  for (const Vec<3>& point : vtk.points) {
    Vec<D> kept;
    for (int d = 0; d < D; ++d)
      kept[d] = point[d];
    points.values.push_back(kept);
    points.flattened += D == 2 && point[2] != 0;
  }
  return points;
}

template <int D>
std::vector<Vec<D>> pointsInMm(const InputPoints<D>& points, const ImageGeometry<D>& fixedGrid)
{
  if (!points.areIndices)
    return points.values;
  const AffineMap<D> pointFromIndex = fixedGrid.pointFromIndex();
  std::vector<Vec<D>> inMm;
  for (const Vec<D>& index : points.values)
    inMm.push_back(pointFromIndex(nearestIndex<D>(index)));
  return inMm;
}

template <int D>
std::string outputPointsText(const MappedPoints<D>& points)
{
  const auto indexIn = [](const ImageGeometry<D>* grid) {
    return grid ? std::optional(grid->pointToIndex()) : std::nullopt;
  };
  const auto inputIndex = indexIn(points.inputGrid), fixedIndex = indexIn(points.fixedGrid),
             movingIndex = indexIn(points.movingGrid);
  std::string text;
  const auto append = [&text](const char* name, const auto& index, const Vec<D>& pointMm) {
    if (index)
      appendField<D>(text, name, "%.0f", nearestIndex<D>((*index)(pointMm)));
  };
  for (std::size_t i = 0; i < points.inputMm.size(); ++i) {
    const Vec<D>&input = points.inputMm[i], &output = points.outputMm[i];
    Vec<D> deformation;
    for (int d = 0; d < D; ++d)
      deformation[d] = roundedToFloat(output[d] - input[d]);
    text.append("Point\t").append(std::to_string(i));
    append("InputIndex", inputIndex, input);
    appendField<D>(text, "InputPoint", "%.6f", input);
    append("OutputIndexFixed", fixedIndex, output);
    appendField<D>(text, "OutputPoint", "%.6f", output);
    appendField<D>(text, "Deformation", "%.6f", deformation);
    append("OutputIndexMoving", movingIndex, output);
    text += '\n';
  }
  return text;
}

template <int D>
std::string outputPointsVtk(const std::vector<Vec<D>>& pointsMm, const std::string& cells, int coordinates)
{
  std::string text = "# vtk DataFile Version 2.0\nMapped points\nASCII\nDATASET POLYDATA\nPOINTS "
                     + std::to_string(pointsMm.size()) + " double\n";
  for (const Vec<D>& point : pointsMm)
    for (int d = 0; d < coordinates; ++d) {
      char number[32];
      const std::to_chars_result end = std::to_chars(number, number + sizeof number, d < D ? point[d] : 0.0);
      text.append(number, end.ptr);
      text += d + 1 < coordinates ? ' ' : '\n';
    }
  return text + cells;
}

template InputPoints<2> readPoints<2>(const std::string&);
template InputPoints<3> readPoints<3>(const std::string&);
template std::vector<Vec<2>> pointsInMm<2>(const InputPoints<2>&, const ImageGeometry<2>&);
template std::vector<Vec<3>> pointsInMm<3>(const InputPoints<3>&, const ImageGeometry<3>&);
template std::string outputPointsText<2>(const MappedPoints<2>&);
template std::string outputPointsText<3>(const MappedPoints<3>&);
template std::string outputPointsVtk<2>(const std::vector<Vec<2>>&, const std::string&, int);
template std::string outputPointsVtk<3>(const std::vector<Vec<3>>&, const std::string&, int);

}
