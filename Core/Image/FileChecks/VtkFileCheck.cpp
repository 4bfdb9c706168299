#include "Core/Compute/LowerCase.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

namespace tessera {
namespace {

struct VtkHeader {
  bool isText = false;
  std::vector<std::size_t> size;
  std::uint64_t components = 0;  // numbers of a voxel in the file
  std::optional<PixelType> type; // of each
  std::uint64_t bytes = 0;       // length of the header

  std::uint64_t numbers() const
  {
    std::uint64_t count = components;
    for (const std::size_t length : size)
      count = bytesTimes(count, length);
    return count;
  }
};

/// Nothing if the library knows no such type.
std::optional<PixelType> typeOf(const std::string& name)
{
  static const std::map<std::string, PixelType> types = {
      {"char", PixelType::int8},          {"unsigned_char", PixelType::uint8},
      {"short", PixelType::int16},        {"unsigned_short", PixelType::uint16},
      {"int", PixelType::int32},          {"unsigned_int", PixelType::uint32},
      {"long", PixelType::int64},         {"unsigned_long", PixelType::uint64},
      {"vtktypeint64", PixelType::int64}, {"vtktypeuint64", PixelType::uint64},
      {"float", PixelType::float32},      {"double", PixelType::float64}};
  const auto found = types.find(name);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

/// Reads lines as the library does, which passes over empty ones.
class VtkLines {
public:
  explicit VtkLines(const std::string& path) : text_(bytesOfFile(path, 0, 1 << 16)) {}

  /// The words of the next line in small letters; none at the end of the text.
  std::vector<std::string> next()
  {
    while (position_ < text_.size() && text_[position_] == '\n')
      ++position_;
    const std::size_t end = text_.find('\n', position_);
    if (end == std::string::npos)
      return {};
    const std::string line = lowerCase(text_.substr(position_, end - position_));
    position_ = end + 1;
    return wordsOf(line);
  }

  std::size_t position() const { return position_; }
  void goBack(std::size_t position) { position_ = position; }

private:
  std::string text_;
  std::size_t position_ = 0;
};

/// Reads the line that says what a voxel holds. False if it says something else.
bool readAttribute(const std::vector<std::string>& words, VtkLines& lines, VtkHeader& header)
{
  if (words[0] == "color_scalars" && words.size() == 3) {
    header.components = numberIn<std::uint64_t>(words[2]).value_or(0);
    header.type = PixelType::uint8;
  } else if ((words[0] == "vectors" || words[0] == "tensors") && words.size() == 3) {
    header.components = words[0] == "vectors" ? 3 : 9;
    header.type = typeOf(words[2]);
  } else if (words[0] == "scalars" && (words.size() == 3 || words.size() == 4)) {
    header.components = words.size() == 4 ? numberIn<std::uint64_t>(words[3]).value_or(0) : 1;
    header.type = typeOf(words[2]);
    const std::size_t before = lines.position();
    const std::vector<std::string> table = lines.next();
    if (table.empty() || table[0] != "lookup_table") {
      // The library looks for the word anywhere in the line.
      const auto has = [](const std::string& word) { return word.find("lookup_table") != std::string::npos; };
      if (std::ranges::any_of(table, has))
        return false;
      lines.goBack(before);
    }
  }
  header.bytes = lines.position();
  return header.components > 0 && header.type;
}

/// Reads the header of a legacy VTK file of structured points up to the voxels. False if it has lines, or an
/// order of lines, in which the library could see something else. Throws if a number is none.
bool readHeader(const std::string& path, VtkLines& lines, VtkHeader& header)
{
  const std::vector<std::string> mark = lines.next();
  lines.next(); // title
  const std::vector<std::string> kind = lines.next(), dataset = lines.next(), dimensions = lines.next();
  header.isText = kind == std::vector<std::string>{"ascii"};
  if (mark.size() < 3 || mark[0] != "#" || mark[1] != "vtk"
      || (!header.isText && kind != std::vector<std::string>{"binary"})
      || dataset != std::vector<std::string>{"dataset", "structured_points"} || dimensions.size() != 4
      || dimensions[0] != "dimensions")
    return false;
  for (std::size_t axis = 1; axis <= 3; ++axis)
    header.size.push_back(numberIn<std::size_t>(dimensions[axis]).value_or(0));
  if (std::ranges::count(header.size, 0u) > 0)
    return false;
  std::set<std::string> seen;
  for (std::vector<std::string> words = lines.next(); !words.empty(); words = lines.next()) {
    const std::string key = words[0] == "aspect_ratio" ? "spacing" : words[0];
    const bool isPlace = key == "spacing" || key == "origin";
    if (!isPlace && key != "point_data")
      return readAttribute(words, lines, header);
    if (words.size() != (isPlace ? 4u : 2u) || !seen.insert(key).second)
      return false;
    for (std::size_t i = 1; i < words.size() && isPlace; ++i)
      if (!finiteNumber(words[i]))
        failToRead(path, words[0] + ": " + words[i] + " is not a finite number", "three finite numbers");
    std::uint64_t voxels = 1;
    for (const std::size_t length : header.size)
      voxels = bytesTimes(voxels, length);
    if (!isPlace && wholeNumber(words[1]) != static_cast<std::int64_t>(voxels))
      failToRead(path,
                 "POINT_DATA " + words[1] + " beside DIMENSIONS of " + std::to_string(voxels) + " voxels",
                 "their number");
  }
  return false;
}

}

bool checkVtkFile(const std::string& path)
{
  if (!hasEnding(path, ".vtk"))
    return false;
  VtkLines lines(path);
  VtkHeader header;
  if (!readHeader(path, lines, header))
    return false;
  const std::uint64_t needed = header.numbers();
  const bool isWhole = header.isText
                           ? countTextNumbers(path, {path, header.bytes, needed, *header.type}) == needed
                           : std::filesystem::file_size(path)
                                 >= header.bytes + bytesTimes(pixelTypeSize(*header.type), needed);
  if (!isWhole)
    failToRead(path, "the file is too short for the " + extentText(header.size) + " voxels of its header",
               wholeFile);
  return true;
}

}
