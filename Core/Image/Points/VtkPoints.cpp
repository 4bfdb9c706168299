#include "Core/Image/Points/VtkPoints.h"

#include "Core/Image/Files/TextWords.h"

#include <bit>
#include <cmath>
#include <cstdint>

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

std::size_t countNumbers(std::string_view text)
{
  std::size_t numbers = 0;
  for (std::size_t at = text.find_first_not_of(blanks); at != std::string_view::npos;
       at = text.find_first_not_of(blanks, text.find_first_of(blanks, at)))
    ++numbers;
  return numbers;
}

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
    if (countNumbers(rest.substr(0, rest.find('\n'))) != 2 || countNumbers(numbers) != 2 * count)
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

}

VtkPoints readVtkPoints(const std::string& path)
{
  TextWords words(path, readWholeFile(path),
                  "legacy VTK polydata (\"# vtk DataFile Version\", ASCII or BINARY, DATASET POLYDATA, "
                  "POINTS n float or double)");
  const std::string start(words.restOfLine());
  if (!start.starts_with("# vtk DataFile"))
    words.fail("the file does not begin with \"# vtk DataFile\"");
  const bool isNewer = start.find("Version 5") != std::string::npos;
  words.restOfLine(); // a title
  const std::string kind(words.next("ASCII or BINARY"));
  if (kind != "ASCII" && kind != "BINARY")
    words.fail("\"" + kind + "\" stands where ASCII or BINARY should stand");
  const bool binary = kind == "BINARY";
  if (words.next("DATASET") != "DATASET" || words.next("POLYDATA") != "POLYDATA")
    words.fail("the file holds no DATASET POLYDATA");
  if (words.next("POINTS") != "POINTS")
    words.fail("POINTS do not follow DATASET POLYDATA");
  const std::size_t count = words.nextCount("the number of points");
  const std::string type(words.next("float or double"));
  if (type != "float" && type != "double")
    words.fail("points of type \"" + type + "\"");
  words.restOfLine();
  VtkPoints result;
  if (count > 0 && hasTwoCoordinates(words.rest(), count, binary, type == "float" ? 4 : 8))
    result.coordinates = 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (words.rest().empty())
      words.fail("the file ends after " + std::to_string(i) + " of " + std::to_string(count) + " points");
    Vec<3> point{};
    for (int d = 0; d < result.coordinates; ++d)
      point[d] = readCoordinate(words, binary, type == "float");
    result.points.push_back(point);
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

}
