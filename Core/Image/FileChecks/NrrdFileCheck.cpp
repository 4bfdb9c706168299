#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/NumberedName.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct NrrdHeader {
  std::map<std::string, std::string> fields;
  std::uint64_t bytes = 0; // length of the header with the empty line behind it
  bool hasEnd = false;     // whether there is such a line
  bool isPlain = true;     // no field is there twice or has another form, and all are known to imageHeaderOf

  bool has(const std::string& name) const { return fields.contains(name); }
  std::string field(const std::string& name) const
  {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

std::string withoutBlanksBehind(std::string line)
{
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
    line.pop_back();
  return line;
}

/// The name of a field in small letters, with the blank that some may lack.
std::string fieldNamed(const std::string& written)
{
  static const std::map<std::string, std::string> joined{{"datafile", "data file"},
                                                         {"lineskip", "line skip"},
                                                         {"byteskip", "byte skip"},
                                                         {"oldmin", "old min"},
                                                         {"axismaxs", "axis maxs"}};
  const std::string name = lowerCase(written);
  return joined.contains(name) ? joined.at(name) : name;
}

/// Reads lines `field: description` up to an empty line, or to the end of a separate header.
std::optional<NrrdHeader> headerOf(const FileHead& file)
{
  static const std::set<std::string> knownFields{
      "type",     "dimension", "sizes",     "space",        "space dimension", "space directions",
      "encoding", "endian",    "data file", "space origin", "content",         "spacings",
      "kinds",    "byte skip", "line skip"};
  const std::string& text = file.bytes;
  if (!text.starts_with("NRRD000"))
    return std::nullopt;
  NrrdHeader header;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = withoutBlanksBehind(text.substr(start, end - start));
    header.bytes = end + 1;
    if (line.empty()) {
      header.hasEnd = true;
      return header;
    }
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos && line[0] != '#') {
      const std::string field = fieldNamed(line.substr(0, colon));
      header.isPlain = header.isPlain && knownFields.contains(field) && !header.has(field);
      header.fields[field] = line.substr(line.find_first_not_of(' ', colon + 1));
    } else if (start > 0 && line[0] != '#' && line.find(":=") == std::string::npos) {
      header.isPlain = false;
    }
  }
  return text.size() < FileHead::longest ? std::optional(header) : std::nullopt;
}

std::optional<PixelType> pixelTypeOf(const std::string& name)
{
  using enum PixelType;
  static constexpr std::pair<std::string_view, PixelType> types[] = {
      {"|signed char|int8|int8_t|", int8},
      {"|uchar|unsigned char|uint8|uint8_t|", uint8},
      {"|short|short int|signed short|int16|int16_t|", int16},
      {"|ushort|unsigned short|uint16|uint16_t|", uint16},
      {"|int|signed int|int32|int32_t|", int32},
      {"|uint|unsigned int|uint32|uint32_t|", uint32},
      {"|long long|longlong|long long int|int64|int64_t|", int64},
      {"|unsigned long long|unsigned long long int|ulonglong|uint64|uint64_t|", uint64},
      {"|float|", float32},
      {"|double|", float64}};
  for (const auto& [names, type] : types)
    if (names.find("|" + lowerCase(name) + "|") != std::string_view::npos)
      return type;
  return std::nullopt;
}

/// Whether a part of the data file is left out before its voxels.
bool hasSkips(const NrrdHeader& header)
{
  return header.has("line skip") || header.has("byte skip");
}

/// Whether the data file is "LIST", in capital letters, or "LIST 2" with the number of axes of each file. The
/// library accepts "LIST2" too, and refuses every other name that begins so.
bool namesList(const std::string& dataFile)
{
  constexpr std::string_view word = "LIST";
  if (!dataFile.starts_with(word))
    return false;
  const std::size_t axes = dataFile.find_first_not_of(' ', word.size());
  return axes == std::string::npos || std::isdigit(static_cast<unsigned char>(dataFile[axes]));
}

/// The files on the lines that follow "data file: LIST".
std::vector<std::string> listedFiles(const FileHead& file)
{
  std::vector<std::string> files;
  bool isBehind = false;
  for (std::string line : linesOf(readWholeFile(file.path))) {
    line = withoutBlanksBehind(std::move(line));
    if (isBehind && !line.empty())
      files.push_back(line);
    const std::size_t colon = line.find(": "),
                      name = colon == std::string::npos ? colon : line.find_first_not_of(' ', colon + 1);
    isBehind = isBehind
               || (name != std::string::npos && fieldNamed(line.substr(0, colon)) == "data file"
                   && namesList(line.substr(name)));
  }
  return files;
}

/// The files of "slice%03d.raw FIRST LAST STEP", behind which may stand the number of axes of each.
std::vector<std::string> numberedFiles(const std::string& path, const std::string& description)
{
  constexpr std::int64_t largest = 1000000000; // numbers of slices are smaller
  const std::vector<std::string> words = wordsOf(description);
  const NumberedName nameOf(words.front());
  std::vector<std::int64_t> given;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (const std::optional<std::int64_t> number = wholeNumber(words[i]);
        number && *number >= -largest && *number <= largest)
      given.push_back(*number);
  if (!nameOf.isNumbered() || std::ranges::count(words.front(), '%') != 1 || given.size() + 1 != words.size()
      || given.size() < 3 || given.size() > 4 || given[2] == 0 || (given[1] - given[0]) / given[2] < 0
      || (given[1] - given[0]) / given[2] >= static_cast<std::int64_t>(maxDataFiles))
    failToRead(path, "data file: no numbers of slices can be made of it",
               "a name such as slice%03d.raw FIRST LAST STEP, of at most " + std::to_string(maxDataFiles)
                   + " files");
  std::vector<std::string> files;
  for (std::int64_t i = given[0]; given[2] > 0 ? i <= given[1] : i >= given[1]; i += given[2])
    files.push_back(nameOf(static_cast<long>(i)));
  return files;
}

/// Throws if the files do not hold as many bytes or numbers as the header says, before memory is asked for,
/// or whole numbers as text in one file, of which the library would cut what no voxel holds. Unknown types
/// and encodings are left to the library, and numbers that are not whole, which it reads as they are.
void checkLength(const FileHead& head, const NrrdHeader& header, const std::vector<std::string>& apart)
{
  const std::string& path = head.path;
  const std::string encoding = lowerCase(header.field("encoding"));
  const std::optional<PixelType> type = pixelTypeOf(header.field("type"));
  const bool isText = encoding == "ascii" || encoding == "text" || encoding == "txt",
             isHex = encoding == "hex", isRaw = encoding == "raw",
             isGzip = encoding == "gzip" || encoding == "gz";
  if (encoding == "bzip2" || encoding == "bz2")
    failToRead(path, "its voxels are compressed by bzip2", "(encoding:) gzip, raw, ascii and hex");
  if (!type || !(isText || isHex || isRaw || isGzip))
    return;
  std::uint64_t numbers = 1, stored = 0;
  std::vector<std::size_t> size;
  for (const std::string& length : wordsOf(header.field("sizes"))) {
    size.push_back(static_cast<std::size_t>(wholeNumber(length).value_or(0)));
    numbers = bytesTimes(numbers, size.back());
  }
  std::error_code missing; // its library tells
  for (const std::string& file : apart.empty() ? std::vector{path} : apart)
    if (const auto length = fs::file_size(file, missing); !missing)
      stored = std::min<std::uint64_t>(stored + length, std::uint64_t(1) << 62);
    else
      return;
  if (apart.empty())
    stored -= std::min<std::uint64_t>(stored, header.bytes);
  const std::uint64_t bytes = bytesTimes(numbers, pixelTypeSize(*type)),
                      most = isGzip   ? bytesTimes(stored, maxInflation)
                             : isHex  ? stored / 2
                             : isText ? (stored + 1) / 2
                                      : stored;
  const auto isCut = [&] {
    const auto data = apart.empty() ? head.file : std::make_shared<const InputFile>(apart[0]);
    return !holdsBytes(*data, bytes, apart.empty() ? header.bytes : 0);
  };
  if (most < (isText ? numbers : bytes) || (isGzip && apart.size() < 2 && !hasSkips(header) && isCut()))
    failToRead(path, "the file is too short for the " + extentText(size) + " voxels of its header",
               wholeFile);
  if (isText && apart.empty() && !hasSkips(header) && header.hasEnd && !isFloatingPoint(*type))
    countTextNumbers(path, {path, header.bytes, numbers, *type});
}

/// The numbers of "(1,2,3)"; of another text none.
std::vector<double> vectorOf(const std::string& text)
{
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return {};
  std::vector<double> numbers;
  for (const std::string& word : piecesOf(text.substr(1, text.size() - 2), ','))
    if (const std::optional<double> number = finiteNumber(word))
      numbers.push_back(*number);
    else
      return {};
  return numbers;
}

/// The vectors of "space directions"; empty ones for "none".
std::vector<std::vector<double>> directionsOf(const NrrdHeader& header)
{
  std::string text = header.field("space directions");
  for (std::size_t at = 0; (at = text.find(", ")) != std::string::npos;)
    text.erase(at + 1, 1);
  std::vector<std::vector<double>> vectors;
  for (const std::string& word : wordsOf(text))
    vectors.push_back(vectorOf(word));
  return vectors;
}

/// Fills spacing and direction of axes in space as ITK 5.2 and its NRRD library do. False if they are given
/// in another way.
bool setAxes(const NrrdHeader& header, std::size_t first, ImageHeader& image)
{
  static const std::map<std::string, std::array<double, 3>> towardsLps = {
      {"", {1, 1, 1}},
      {"left-posterior-superior", {1, 1, 1}},
      {"lps", {1, 1, 1}},
      {"right-anterior-superior", {-1, -1, 1}},
      {"ras", {-1, -1, 1}}};
  const auto axes = static_cast<std::size_t>(image.dimension);
  const auto space = towardsLps.find(lowerCase(header.field("space")));
  const bool hasSpace = header.has("space") || header.has("space dimension");
  image.spacingMm.assign(axes, 1.0), image.originMm.assign(axes, 0.0);
  image.direction.assign(axes, std::vector<double>(axes));
  if (!hasSpace) {
    const std::vector<std::string> spacings = wordsOf(header.field("spacings"));
    if (axes == 3 || header.has("space directions") || header.has("space origin")
        || (header.has("spacings") && spacings.size() != first + axes))
      return false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      image.direction[axis][axis] = 1;
      const std::optional<double> spacing = spacings.empty() ? 1.0 : finiteNumber(spacings[first + axis]);
      if (!spacing)
        return false;
      image.spacingMm[axis] = *spacing;
    }
    return true;
  }
  const std::vector<std::vector<double>> columns = directionsOf(header);
  const std::size_t given =
      header.has("space") ? 3 : wholeNumber(header.field("space dimension")).value_or(0);
  if (space == towardsLps.end() || (axes == 3 && !header.has("space"))
      || (header.has("space") && header.has("space dimension")) || given != axes || header.has("spacings")
      || columns.size() != first + axes || (first == 1 && !columns[0].empty()))
    return false;
  const auto turned = [&](std::size_t row, double value) {
    return space->second[row] < 0 ? value * -1 : value;
  };
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::vector<double>& column = columns[first + axis];
    if (column.size() != axes)
      return false;
    double squares = 0;
    for (const double value : column)
      squares += value * value;
    image.spacingMm[axis] = std::sqrt(squares);
    for (std::size_t row = 0; row < axes; ++row)
      image.direction[row][axis] = turned(row, 1.0 / image.spacingMm[axis] * column[row]);
  }
  if (!header.has("space origin"))
    return true;
  image.originMm = vectorOf(header.field("space origin"));
  if (image.originMm.size() != axes)
    return false;
  for (std::size_t row = 0; row < axes; ++row)
    image.originMm[row] = turned(row, image.originMm[row]);
  return true;
}

/// The header of a file in which the components of a voxel lie together; empty where ITK finds another order
/// of axes, or where a field is one that only its library knows.
std::optional<ImageHeader> imageHeaderOf(const std::string& path, const NrrdHeader& header)
{
  std::vector<std::string> kinds = wordsOf(lowerCase(header.field("kinds")));
  const std::vector<std::string> sizes = wordsOf(header.field("sizes"));
  const auto isDomain = [](const std::string& kind) { return kind == "domain" || kind == "space"; };
  if (!header.isPlain || (!kinds.empty() && kinds.size() != sizes.size()))
    return std::nullopt;
  kinds.resize(sizes.size(), "domain");
  const std::size_t first = isDomain(kinds[0]) ? 0 : 1;
  const bool areColours = kinds[0] == "rgb-color" || kinds[0] == "rgba-color";
  const bool areVectors = kinds[0] == "vector" || kinds[0] == "list" || kinds[0] == "covariant-vector";
  if (!std::all_of(kinds.begin() + 1, kinds.end(), isDomain) || (first == 1 && !areVectors && !areColours))
    return std::nullopt;
  ImageHeader image;
  image.path = path;
  for (std::size_t axis = first; axis < sizes.size(); ++axis)
    image.size.push_back(static_cast<std::size_t>(*wholeNumber(sizes[axis])));
  image.dimension = static_cast<int>(image.size.size());
  image.components = first == 1 ? static_cast<int>(*wholeNumber(sizes[0])) : 1;
  image.componentType = *pixelTypeOf(header.field("type"));
  image.meaning = meaningOf(image.components, areColours || image.componentType == PixelType::uint8);
  if (image.dimension < 1 || image.dimension > 3 || !setAxes(header, first, image))
    return std::nullopt;
  return image;
}

/// The place of the voxels; empty if only the library reads them.
std::optional<VoxelPlace> voxelsOf(const FileHead& file, const NrrdHeader& header)
{
  const std::optional<PixelType> type = pixelTypeOf(header.field("type"));
  const std::string encoding = lowerCase(header.field("encoding")),
                    endian = lowerCase(header.field("endian"));
  const std::string apart = header.field("data file");
  const bool isRaw = encoding == "raw", isGzip = encoding == "gzip" || encoding == "gz";
  const bool isOneFile = apart.find_first_of("% ") == std::string::npos && !namesList(apart);
  const bool hasOrder = type && (pixelTypeSize(*type) == 1 || endian == "little" || endian == "big");
  if (!hasOrder || hasSkips(header) || (!isRaw && !isGzip) || !isOneFile)
    return std::nullopt;
  const std::vector<std::string> sizes = wordsOf(header.field("sizes"));
  const bool hasSizes = wholeNumber(header.field("dimension")) == static_cast<std::int64_t>(sizes.size());
  if (!hasSizes || (apart.empty() && !header.hasEnd))
    return std::nullopt;
  VoxelPlace place;
  place.path = apart.empty() ? file.path : (fs::path(file.path).parent_path() / apart).string();
  if (apart.empty())
    place.file = file.file;
  place.encoding = isRaw ? FileEncoding::plain : FileEncoding::gzip;
  (isRaw ? place.offset : place.streamAt) = apart.empty() ? header.bytes : 0;
  place.type = *type;
  place.byteCount = pixelTypeSize(*type);
  for (const std::string& text : sizes)
    if (const std::int64_t size = wholeNumber(text).value_or(0);
        size < 1
        || __builtin_mul_overflow(place.byteCount, static_cast<std::uint64_t>(size), &place.byteCount))
      return std::nullopt;
  place.swapped = pixelTypeSize(*type) > 1 && (endian == "big") != (std::endian::native == std::endian::big);
  return place;
}

}

std::vector<std::string> nrrdDataFiles(const FileHead& head)
{
  const std::string& path = head.path;
  const std::optional<NrrdHeader> header = headerOf(head);
  const std::string apart = header ? header->field("data file") : "";
  if (apart.empty())
    return {};
  const bool isNumbered = apart.find('%') != std::string::npos;
  std::vector<std::string> files;
  for (const std::string& file : isNumbered         ? numberedFiles(path, apart)
                                 : namesList(apart) ? listedFiles(head)
                                                    : std::vector{apart})
    files.push_back((fs::path(path).parent_path() / file).string());
  return files;
}

std::string nrrdSpace(const FileHead& file)
{
  const std::optional<NrrdHeader> header = headerOf(file);
  std::string space = header ? lowerCase(header->field("space")) : "";
  std::erase_if(space, [](char c) { return c == '-' || c == ' '; });
  return space;
}

ParsedImage parseNrrd(const FileHead& file)
{
  const std::string& path = file.path;
  const std::vector<std::string> apart = nrrdDataFiles(file);
  const std::optional<NrrdHeader> header = headerOf(file);
  if (!header)
    return {};
  constexpr std::int64_t maxOnAxis = std::numeric_limits<std::uint32_t>::max(); // ITK drops the bits above
  for (const std::string& size : wordsOf(header->field("sizes")))
    if (const std::int64_t count = wholeNumber(size).value_or(0); count < 1 || count > maxOnAxis)
      failToRead(path, "sizes: " + size + ": not a number of voxels on an axis",
                 "whole numbers from 1 to " + std::to_string(maxOnAxis));
  const std::string skip = header->field("byte skip");
  const std::optional<std::int64_t> skipped = skip.empty() ? 0 : wholeNumber(skip);
  if (!skipped)
    failToRead(path, "byte skip: " + skip + ": not a number of bytes", "a whole number");
  // The library then takes the last bytes of the file, which are others where it is cut.
  if (apart.empty() && *skipped < 0)
    failToRead(path, "byte skip: voxels behind their header are not counted from the end of the file",
               "\"byte skip\" of 0 or more, or a data file of its own");
  if (header->has("old min"))
    failToRead(path, "its old min and old max give its numbers another meaning, which is not applied",
               "a file without them, which \"unu unquantize\" writes");
  if (header->has("axis maxs") && !header->has("spacings") && !header->has("space directions"))
    failToRead(path, "axis maxs: the library takes a spacing of 1 whatever they say",
               "\"spacings\" or \"space directions\"");
  std::vector<std::vector<double>> directions = directionsOf(*header);
  const bool areNamed = !directions.empty();
  std::erase(directions, std::vector<double>());
  if (areNamed && (directions.empty() || directions.size() != directions.front().size()))
    failToRead(path,
               "space directions: " + header->field("space directions") + ": "
                   + std::to_string(directions.size()) + " axes have a direction",
               "a vector of finite numbers for each axis of space, and none for others");
  checkLength(file, *header, apart);
  std::optional<VoxelPlace> voxels = voxelsOf(file, *header);
  std::optional<ImageHeader> image = voxels ? imageHeaderOf(path, *header) : std::nullopt;
  return image ? ParsedImage{true, std::move(*image), std::move(voxels)} : ParsedImage{true, {}, {}};
}

}
