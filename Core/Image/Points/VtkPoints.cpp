#include "Core/Image/Points/VtkPoints.h"

#include "Core/Image/Files/TextWords.h"

#include <bit>
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
  if (isFloat)
    return std::bit_cast<float>(readBigEndian<std::uint32_t>(words, "a coordinate"));
  return std::bit_cast<double>(readBigEndian<std::uint64_t>(words, "a coordinate"));
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

/// Reads the cells of a binary file, `KIND cells numbers` followed by 32-bit numbers, as ASCII. Stops before
/// other data.
std::string binaryCells(TextWords& words)
{
  std::string text;
  for (;;) {
    const std::string kind(words.peek());
    if (kind != "VERTICES" && kind != "LINES" && kind != "POLYGONS" && kind != "TRIANGLE_STRIPS")
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
  if (!words.restOfLine().starts_with("# vtk DataFile"))
    words.fail("the file does not begin with \"# vtk DataFile\"");
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
  if (binary) {
    result.cells = binaryCells(words);
  } else if (!words.peek().empty()) {
    result.cells = words.rest();
    if (!result.cells.ends_with('\n'))
      result.cells.push_back('\n');
  }
  return result;
}

}
