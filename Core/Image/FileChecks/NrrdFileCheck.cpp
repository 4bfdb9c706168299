#include "Core/Compute/LowerCase.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/NumberedName.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct NrrdHeader {
  std::map<std::string, std::string> fields;
  std::uint64_t bytes = 0; // length of the header with the empty line behind it
  bool hasEnd = false;     // whether there is such a line

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

/// Reads lines `field: description` up to an empty line, or to the end of a separate header.
std::optional<NrrdHeader> readHeader(const std::string& path)
{
  constexpr std::size_t limit = 1 << 16; // a header is shorter; another file may be one very long line
  const std::string text = bytesOfFile(path, 0, limit);
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
    if (const std::size_t colon = line.find(": "); colon != std::string::npos && line[0] != '#')
      header.fields[lowerCase(line.substr(0, colon))] = line.substr(line.find_first_not_of(' ', colon + 1));
  }
  return text.size() < limit ? std::optional(header) : std::nullopt;
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

/// Whether all axes but the first, which may be that of the components, are axes in space. Otherwise the
/// library changes the order of the axes.
bool hasComponentsTogether(const std::string& kinds)
{
  std::istringstream words(kinds);
  std::string kind;
  words >> kind; // the first axis
  while (words >> kind)
    if (kind = lowerCase(kind); kind != "domain" && kind != "space")
      return false;
  return true;
}

/// The field that names the data files; empty if the voxels follow the header.
std::string dataFileField(const NrrdHeader& header)
{
  return header.field("data file") + header.field("datafile");
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
std::vector<std::string> listedFiles(const std::string& path)
{
  std::ifstream stream(path, std::ios::binary);
  std::vector<std::string> files;
  bool isBehind = false;
  for (std::string line; std::getline(stream, line);) {
    line = withoutBlanksBehind(std::move(line));
    if (isBehind && !line.empty())
      files.push_back(line);
    const std::size_t colon = line.find(": "),
                      name = colon == std::string::npos ? colon : line.find_first_not_of(' ', colon + 1);
    const std::string field = lowerCase(line.substr(0, colon));
    isBehind = isBehind
               || ((field == "data file" || field == "datafile") && name != std::string::npos
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

/// Throws if the files cannot hold as many bytes or numbers as the header says, before memory is asked for.
/// Unknown types and encodings are left to the library.
void checkLength(const std::string& path, const NrrdHeader& header)
{
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
  const std::vector<std::string> apart = nrrdDataFiles(path);
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
  if (most < (isText ? numbers : bytes))
    failToRead(path, "the file is too short for the " + extentText(size) + " voxels of its header",
               wholeFile);
}

/// Checks whole numbers that are text in one file: the library would cut what no voxel holds. Numbers that
/// are not whole it reads as they are.
void checkTextVoxels(const std::string& path, const NrrdHeader& header)
{
  const std::string encoding = lowerCase(header.field("encoding")), apart = dataFileField(header);
  const std::optional<PixelType> type = pixelTypeOf(header.field("type"));
  const bool skips = !(header.field("line skip") + header.field("lineskip") + header.field("byte skip")
                       + header.field("byteskip"))
                          .empty();
  const bool isText = encoding == "ascii" || encoding == "text" || encoding == "txt";
  if (!isText || skips || !apart.empty() || !header.hasEnd || !type || *type == PixelType::float32
      || *type == PixelType::float64)
    return;
  std::uint64_t count = 1;
  for (const std::string& size : wordsOf(header.field("sizes")))
    count = bytesTimes(count, static_cast<std::uint64_t>(wholeNumber(size).value_or(0)));
  countTextNumbers(path, {path, header.bytes, count, *type});
}

}

std::vector<std::string> nrrdDataFiles(const std::string& path)
{
  const std::optional<NrrdHeader> header = readHeader(path);
  const std::string apart = header ? dataFileField(*header) : "";
  if (apart.empty())
    return {};
  const bool isNumbered = apart.find('%') != std::string::npos;
  std::vector<std::string> files;
  for (const std::string& file : isNumbered         ? numberedFiles(path, apart)
                                 : namesList(apart) ? listedFiles(path)
                                                    : std::vector{apart})
    files.push_back((fs::path(path).parent_path() / file).string());
  return files;
}

std::string nrrdSpace(const std::string& path)
{
  const std::optional<NrrdHeader> header = readHeader(path);
  std::string space = header ? lowerCase(header->field("space")) : "";
  std::erase_if(space, [](char c) { return c == '-' || c == ' '; });
  return space;
}

bool checkNrrdFile(const std::string& path)
{
  const bool isApart = !nrrdDataFiles(path).empty();
  const std::optional<NrrdHeader> header = readHeader(path);
  if (!header)
    return false;
  constexpr std::int64_t maxOnAxis = std::numeric_limits<std::uint32_t>::max(); // ITK drops the bits above
  for (const std::string& size : wordsOf(header->field("sizes")))
    if (const std::int64_t count = wholeNumber(size).value_or(0); count < 1 || count > maxOnAxis)
      failToRead(path, "sizes: " + size + ": not a number of voxels on an axis",
                 "whole numbers from 1 to " + std::to_string(maxOnAxis));
  const std::string skip = header->field("byte skip") + header->field("byteskip");
  const std::optional<std::int64_t> skipped = skip.empty() ? 0 : wholeNumber(skip);
  if (!skipped)
    failToRead(path, "byte skip: " + skip + ": not a number of bytes", "a whole number");
  // The library then takes the last bytes of the file, which are others where it is cut.
  if (!isApart && *skipped < 0)
    failToRead(path, "byte skip: voxels behind their header are not counted from the end of the file",
               "\"byte skip\" of 0 or more, or a data file of its own");
  if (!(header->field("old min") + header->field("oldmin")).empty())
    failToRead(path, "its old min and old max give its numbers another meaning, which is not applied",
               "a file without them, which \"unu unquantize\" writes");
  if (const std::string maxs = header->field("axis maxs") + header->field("axismaxs");
      !maxs.empty() && header->field("spacings").empty() && header->field("space directions").empty())
    failToRead(path, "axis maxs: the library takes a spacing of 1 whatever they say",
               "\"spacings\" or \"space directions\"");
  checkLength(path, *header);
  checkTextVoxels(path, *header);
  return true;
}

std::optional<VoxelPlace> nrrdVoxels(const std::string& path)
{
  const std::optional<NrrdHeader> header = readHeader(path);
  if (!header)
    return std::nullopt;
  const std::optional<PixelType> type = pixelTypeOf(header->field("type"));
  const std::string encoding = lowerCase(header->field("encoding")),
                    endian = lowerCase(header->field("endian"));
  const std::string apart = dataFileField(*header);
  const bool skips = !(header->field("line skip") + header->field("lineskip") + header->field("byte skip")
                       + header->field("byteskip"))
                          .empty();
  const bool isRaw = encoding == "raw", isGzip = encoding == "gzip" || encoding == "gz";
  const bool isOneFile = apart.find_first_of("% ") == std::string::npos && !namesList(apart);
  if (!type || skips || (!isRaw && !isGzip) || !isOneFile || !hasComponentsTogether(header->field("kinds")))
    return std::nullopt;
  const std::vector<std::string> sizes = wordsOf(header->field("sizes"));
  const bool hasSizes = wholeNumber(header->field("dimension")) == static_cast<std::int64_t>(sizes.size());
  if (!hasSizes || (apart.empty() && !header->hasEnd))
    return std::nullopt;
  VoxelPlace place;
  place.path = apart.empty() ? path : (fs::path(path).parent_path() / apart).string();
  place.encoding = isRaw ? FileEncoding::plain : FileEncoding::gzip;
  (isRaw ? place.offset : place.streamAt) = apart.empty() ? header->bytes : 0;
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
