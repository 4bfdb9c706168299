#include "Core/Image/Points/PointsFile.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Points/PointTable.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace tessera {
namespace {

/// Reads a big-endian number: VTK's legacy format is big-endian on every machine.
template <class Unsigned>
Unsigned readBigEndian(TextWords& words, std::string_view expected)
{
  const std::string_view bytes = words.rest();
  if (bytes.size() < sizeof(Unsigned))
    words.fail("the file ends where " + std::string(expected) + " should stand");
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
    value = static_cast<Unsigned>(value << 8 | static_cast<unsigned char>(bytes[i]));
  words.skip(sizeof(Unsigned));
  return value;
}

double readCoordinate(TextWords& words, bool binary, bool isFloat)
{
  if (!binary)
    return words.nextNumber("a coordinate");
  const double number = isFloat ? std::bit_cast<float>(readBigEndian<std::uint32_t>(words, "a coordinate"))
                                : std::bit_cast<double>(readBigEndian<std::uint64_t>(words, "a coordinate"));
  if (!std::isfinite(number))
    words.fail("a coordinate is not a finite number");
  return number;
}

constexpr const char* blanks = " \t\r\n";

/// Whether `count` points of two coordinates are all that stands before other data or the end: ITK writes
/// them so for 2D images. The line must end there, which it does not in a file of three coordinates that is
/// cut off.
bool hasTwoCoordinates(std::string_view rest, std::size_t count, bool binary, std::size_t bytes)
{
  constexpr const char* keywords = "VLPTCM"; // VERTICES, LINES, POLYGONS, POINT_DATA, METADATA, ...
  std::string_view after;
  if (binary) {
    if (count > rest.size() / (2 * bytes))
      return false;
    after = rest.substr(2 * count * bytes);
  } else {
    const std::string_view numbers = rest.substr(0, rest.find_first_of(keywords));
    if (wordsOf(rest.substr(0, rest.find('\n'))).size() != 2 || wordsOf(numbers).size() != 2 * count)
      return false;
    after = rest.substr(numbers.find_last_not_of(blanks) + 1);
  }
  const std::size_t next = after.find_first_not_of(blanks);
  return after.substr(0, next).find('\n') != std::string_view::npos
         && (next == std::string_view::npos
             || std::string_view(keywords).find(after[next]) != std::string_view::npos);
}

bool isKindOfCells(std::string_view word)
{
  return word == "VERTICES" || word == "LINES" || word == "POLYGONS" || word == "TRIANGLE_STRIPS";
}

/// Reads `NAME type` and that many whole numbers.
std::vector<std::uint64_t> arrayOfCells(TextWords& words, const std::string& name, std::size_t count,
                                        bool binary)
{
  if (words.next(name) != name)
    words.fail(name + " should stand there");
  const bool isLong = words.next("a type of whole numbers") == "vtktypeint64";
  words.restOfLine();
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(!binary  ? words.nextCount("a number of a cell")
                      : isLong ? readBigEndian<std::uint64_t>(words, "a number of a cell")
                               : readBigEndian<std::uint32_t>(words, "a number of a cell"));
  return numbers;
}

/// Reads the cells of version 5 of the format, `KIND offsets corners` followed by both arrays, as those of
/// the versions before, `KIND cells numbers`, in ASCII. Stops before other data.
std::string newerCells(TextWords& words, bool binary)
{
  std::string text;
  for (;;) {
    while (words.peek() == "METADATA") // up to an empty line
      while (!words.restOfLine().empty() && !words.rest().empty())
        ;
    if (!isKindOfCells(words.peek()))
      return text;
    const std::string kind(words.next(""));
    const std::size_t count = words.nextCount("the number of offsets of " + kind),
                      corners = words.nextCount("the number of corners of " + kind);
    const std::vector<std::uint64_t> offsets = arrayOfCells(words, "OFFSETS", count, binary),
                                     points = arrayOfCells(words, "CONNECTIVITY", corners, binary);
    if (count == 0)
      continue;
    text += kind + " " + std::to_string(count - 1) + " " + std::to_string(count - 1 + corners) + "\n";
    for (std::size_t cell = 0; cell + 1 < count; ++cell) {
      if (offsets[cell] > offsets[cell + 1] || offsets[cell + 1] > corners)
        words.fail("the offsets of " + kind + " do not grow up to the number of corners");
      text += std::to_string(offsets[cell + 1] - offsets[cell]);
      for (std::uint64_t i = offsets[cell]; i < offsets[cell + 1]; ++i)
        text += " " + std::to_string(points[i]);
      text += "\n";
    }
  }
}

/// Reads the cells of a binary file, `KIND cells numbers` followed by 32-bit numbers, as ASCII. Stops before
/// other data.
std::string binaryCells(TextWords& words)
{
  std::string text;
  for (;;) {
    const std::string kind(words.peek());
    if (!isKindOfCells(kind))
      return text;
    words.next("");
    const std::size_t cells = words.nextCount("the number of " + kind),
                      numbers = words.nextCount("the length of " + kind);
    words.restOfLine();
    text += kind + " " + std::to_string(cells) + " " + std::to_string(numbers) + "\n";
    std::uint32_t left = 0; // corners of the current cell that are still to be read
    for (std::size_t i = 0; i < numbers; ++i) {
      const std::uint32_t number = readBigEndian<std::uint32_t>(words, "a number of a cell");
      left = left == 0 ? number : left - 1;
      text += std::to_string(number) + (left == 0 ? "\n" : " ");
    }
  }
}

/// Reads a legacy VTK polydata file: points in LPS with a third coordinate of 0 if the file has two, as ITK
/// writes them, and the data after the points of an ASCII file, or the vertices, lines, polygons and strips
/// of a binary one as ASCII. Throws Error(unreadableInput) with file and line.
InputPoints<3> readVtkPoints(const std::string& path)
{
  TextWords words(path, readWholeFile(path),
                  "legacy VTK polydata (\"# vtk DataFile Version\", ASCII or BINARY, DATASET POLYDATA, "
                  "POINTS n float or double)");
  const std::string start(words.restOfLine());
  if (!start.starts_with("# vtk DataFile"))
    words.fail("the file does not begin with \"# vtk DataFile\"");
  const bool isNewer = start.find("Version 5") != std::string::npos;
  const std::string title(words.restOfLine());
  const std::string kind(words.next("ASCII or BINARY"));
  if (kind != "ASCII" && kind != "BINARY")
    words.fail("\"" + kind + "\" stands where ASCII or BINARY should stand");
  const bool binary = kind == "BINARY";
  if (words.next("DATASET") != "DATASET" || words.next("POLYDATA") != "POLYDATA")
    words.fail("the file holds no DATASET POLYDATA");
  std::string space = textBehind(title, "SPACE=", blanks);
  if (words.peek()
      == "FIELD") // which VTK writes before the points; in its array SPACE 3D Slicer names their axes
    while (!words.rest().empty() && words.peek() != "POINTS")
      if (words.restOfLine().starts_with("SPACE 1 1 string")) {
        const std::string named(
            words.peek().substr(binary && !words.peek().empty() ? 1 : 0)); // behind its length
        space += space.empty() ? named : space == named ? "" : " and " + named;
      }
  if (!space.empty() && space != "RAS" && space != "LPS")
    words.fail("the file names the space " + space + " for its points, where LPS or RAS should stand");
  if (words.next("POINTS") != "POINTS")
    words.fail("POINTS do not follow DATASET POLYDATA");
  const std::size_t count = words.nextCount("the number of points");
  const std::string type(words.next("float or double"));
  if (type != "float" && type != "double")
    words.fail("points of type \"" + type + "\"");
  words.restOfLine();
  InputPoints<3> result;
  result.inRas = space == "RAS";
  if (count > 0 && hasTwoCoordinates(words.rest(), count, binary, type == "float" ? 4 : 8))
    result.coordinates = 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (words.rest().empty())
      words.fail("the file ends after " + std::to_string(i) + " of " + std::to_string(count) + " points");
    Vec<3> point{};
    for (int d = 0; d < result.coordinates; ++d)
      point[d] = readCoordinate(words, binary, type == "float");
    result.values.push_back(result.inRas ? Vec<3>{0 - point[0], 0 - point[1], point[2]} : point);
  }
  if (!binary && !words.peek().empty()
      && std::string_view("+-.0123456789").find(words.peek()[0]) != std::string_view::npos)
    words.fail("more than " + std::to_string(count) + " points");
  if (isNewer) {
    result.cells = newerCells(words, binary);
  } else if (binary) {
    result.cells = binaryCells(words);
  } else if (!words.peek().empty()) {
    result.cells = words.rest();
    if (!result.cells.ends_with('\n'))
      result.cells.push_back('\n');
  }
  return result;
}

const std::string allowedText = "\"index\" or \"point\", the number of points, and one number an axis for "
                                "each point, all with blanks or line breaks between them";

/// Fails if as many numbers as the first point's line has, for each point, make the whole file, and these are
/// not D. With commas or semicolons they are no numbers, which the next one to be read tells.
template <int D>
void checkCoordinates(TextWords& words, std::size_t points)
{
  words.peek(); // moves on to the line of the first point
  const std::string_view rest = words.rest();
  const std::string_view first = rest.substr(0, rest.find('\n'));
  const std::size_t coordinates = wordsOf(first).size();
  if (first.find_first_of(",;") == std::string_view::npos && coordinates != D && coordinates > 0
      && coordinates * points == wordsOf(rest).size())
    words.fail(std::to_string(coordinates) + " coordinates a point, the transform has " + std::to_string(D));
}

/// The mapped points, in mm, of an outputpoints.txt of transformix.
template <int D>
InputPoints<D> mappedPoints(TextWords& words)
{
  InputPoints<D> points;
  while (!words.rest().empty()) {
    const auto numbers = wordsOf(textBehind(words.restOfLine(), "OutputPoint = [", "]"));
    Vec<D>& point = points.values.emplace_back();
    for (std::size_t d = 0; d < D; ++d) {
      const auto number = d < numbers.size() ? finiteNumber(numbers[d]) : std::nullopt;
      if (!number)
        words.fail("no \"OutputPoint = [ " + std::to_string(D) + " numbers ]\" in the line before");
      point[d] = *number;
    }
  }
  return points;
}

template <int D>
InputPoints<D> readText(const std::string& path)
{
  TextWords words(path, readPlainText(path), allowedText);
  if (words.rest().starts_with("Point\t"))
    return mappedPoints<D>(words);
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

using BinaryHead = std::array<std::int64_t, 2>; // 1: indices, 0: mm; the number of points

template <int D>
InputPoints<D> readBinary(const std::string& path)
{
  const std::string bytes = readWholeFile(path),
                    allowed =
                        "1 for indices or 0 for mm, and the number of points, as 64-bit whole numbers, then "
                        + std::to_string(D) + " finite doubles a point";
  BinaryHead head{-1, -1};
  if (bytes.size() >= sizeof head)
    std::memcpy(head.data(), bytes.data(), sizeof head);
  const std::size_t rest = bytes.size() - std::min(bytes.size(), sizeof head), count = rest / sizeof(Vec<D>);
  if (!std::in_range<std::size_t>(head[1]) || count != static_cast<std::size_t>(head[1])
      || rest % sizeof(Vec<D>) != 0 || (head[0] != 0 && head[0] != 1))
    failToRead(path,
               std::to_string(bytes.size()) + " bytes, which begin with the numbers "
                   + std::to_string(head[0]) + " and " + std::to_string(head[1]) + ": not those of points",
               allowed);
  InputPoints<D> points{head[0] == 1, std::vector<Vec<D>>(count), {}};
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(&points.values[i], bytes.data() + sizeof head + i * sizeof(Vec<D>), sizeof(Vec<D>));
    if (!std::ranges::all_of(points.values[i], [](double x) { return std::isfinite(x); }))
      failToRead(path, "point " + std::to_string(i) + " is not finite", allowed);
  }
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

std::string kindOfPointsFile(const std::string& path)
{
  return hasEnding(path, ".vtk") ? "vtk" : hasEnding(path, ".bin") ? "bin" : "txt";
}

template <int D>
InputPoints<D> readPoints(const std::string& path)
{
  if (isPointTable(path))
    return inDimension<D>(readPointTable(path), path);
  const std::string kind = kindOfPointsFile(path);
  return kind == "vtk"   ? inDimension<D>(readVtkPoints(path), path)
         : kind == "bin" ? readBinary<D>(path)
                         : readText<D>(path);
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
std::string outputPointsBinary(const MappedPoints<D>& points, bool asIndices)
{
  const auto index = asIndices ? std::optional(points.fixedGrid->pointToIndex()) : std::nullopt;
  const BinaryHead head{asIndices, static_cast<std::int64_t>(points.outputMm.size())};
  std::string bytes(reinterpret_cast<const char*>(head.data()), sizeof head);
  for (const Vec<D>& pointMm : points.outputMm) {
    const Vec<D> written = index ? nearestIndex<D>((*index)(pointMm)) : pointMm;
    bytes.append(reinterpret_cast<const char*>(written.data()), sizeof written);
  }
  return bytes;
}

template <int D>
std::string outputPointsVtk(const std::vector<Vec<D>>& pointsMm, const InputPoints<D>& input)
{
  const int coordinates = input.coordinates;
  std::string text = "# vtk DataFile Version 2.0\nMapped points"
                     + std::string(input.inRas ? " SPACE=RAS" : "") + "\nASCII\nDATASET POLYDATA\nPOINTS "
                     + std::to_string(pointsMm.size()) + " double\n";
  for (const Vec<D>& point : pointsMm)
    for (int d = 0; d < coordinates; ++d) {
      char number[32];
      const std::to_chars_result end = std::to_chars(number, number + sizeof number,
                                                     d >= D                 ? 0.0
                                                     : input.inRas && d < 2 ? 0 - point[d]
                                                                            : point[d]);
      text.append(number, end.ptr);
      text += d + 1 < coordinates ? ' ' : '\n';
    }
  return text + input.cells;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readPoints<D>, pointsInMm<D>, outputPointsText<D>, outputPointsBinary<D>,
                                   outputPointsVtk<D>);

}
