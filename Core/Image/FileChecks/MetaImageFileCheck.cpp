#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Files/NumberedName.h"
#include "Core/Image/Voxels/VoxelPlace.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct MetaHeader {
  std::map<std::string, std::string> values;
  std::uint64_t bytes = 0; // length of the header with its last line

  std::string value(const std::string& key) const
  {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }
};

/// Reads lines `Key = value` up to ElementDataFile. Empty if the text has no such lines.
std::optional<MetaHeader> readHeader(const std::string& path)
{
  constexpr std::size_t limit = 1 << 16; // a header is shorter; another file may be one very long line
  const std::string text = bytesOfFile(path, 0, limit);
  MetaHeader header;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const std::size_t separator = line.find_first_of("=:");
    if (separator == std::string_view::npos)
      return std::nullopt;
    const std::string key(trimmed(line.substr(0, separator)));
    header.values[key] = trimmed(line.substr(separator + 1));
    header.bytes = end + 1;
    if (key == "ElementDataFile")
      return header;
  }
  return std::nullopt;
}

bool beginsAsMetaImage(const std::string& path)
{
  std::string line;
  std::ifstream stream(path, std::ios::binary);
  return std::getline(stream, line) && (line.starts_with("ObjectType") || line.starts_with("NDims"));
}

/// The pixel type of an ElementType, if its length is the same on every machine.
std::optional<PixelType> pixelTypeOf(const std::string& type)
{
  static const std::map<std::string, PixelType> types = {
      {"MET_CHAR", PixelType::int8},       {"MET_UCHAR", PixelType::uint8},
      {"MET_SHORT", PixelType::int16},     {"MET_USHORT", PixelType::uint16},
      {"MET_INT", PixelType::int32},       {"MET_UINT", PixelType::uint32},
      {"MET_LONG_LONG", PixelType::int64}, {"MET_ULONG_LONG", PixelType::uint64},
      {"MET_FLOAT", PixelType::float32},   {"MET_DOUBLE", PixelType::float64}};
  const auto found = types.find(type);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

bool isTrue(const std::string& value)
{
  return !value.empty() && (value[0] == 'T' || value[0] == 't' || value[0] == '1');
}

bool isText(const MetaHeader& header)
{
  const std::string binary = header.value("BinaryData");
  return !binary.empty() && !isTrue(binary);
}

/// Length of the voxels before compression; 0 if the header does not say it.
std::uint64_t voxelBytes(const MetaHeader& header)
{
  const std::optional<PixelType> type = pixelTypeOf(header.value("ElementType"));
  std::uint64_t bytes = type ? pixelTypeSize(*type) : 0;
  const std::string channels = header.value("ElementNumberOfChannels");
  if (!channels.empty())
    bytes = bytesTimes(bytes, std::strtoull(channels.c_str(), nullptr, 10));
  std::istringstream sizes(header.value("DimSize"));
  for (std::uint64_t size = 0; sizes >> size;)
    bytes = bytesTimes(bytes, size);
  return bytes;
}

/// Length of the voxels in the file; 0 if the header does not say it.
std::uint64_t storedBytes(const MetaHeader& header)
{
  if (isTrue(header.value("CompressedData")))
    return std::strtoull(header.value("CompressedDataSize").c_str(), nullptr, 10);
  return isText(header) ? 0 : voxelBytes(header);
}

bool isLocal(const std::string& dataFile)
{
  return dataFile == "LOCAL" || dataFile == "Local" || dataFile == "local";
}

/// Whether ElementDataFile names several data files.
bool isList(const std::string& dataFile)
{
  return dataFile.starts_with("LIST") || dataFile.find('%') != std::string::npos;
}

fs::path dataFileOf(const std::string& path, const std::string& dataFile)
{
  return isLocal(dataFile) ? fs::path(path) : fs::path(path).parent_path() / dataFile;
}

void requireDataFile(const std::string& path, const fs::path& dataPath)
{
  std::error_code ignored; // for names that no file can have
  if (!fs::is_regular_file(dataPath, ignored))
    failToRead(path, "its data file " + dataPath.string() + " is missing",
               "a data file where ElementDataFile says");
}

void checkNumbers(const std::string& path, const MetaHeader& header)
{
  for (const char* key : {"ElementSpacing", "ElementSize", "Offset", "Position", "Origin", "TransformMatrix",
                          "Rotation", "Orientation"}) {
    std::istringstream numbers(header.value(key));
    for (std::string number; numbers >> number;) {
      char* end = nullptr;
      const double value = std::strtod(number.c_str(), &end);
      if (*end != '\0' || !std::isfinite(value))
        failToRead(path,
                   std::string(key) + " = " + header.value(key) + ": " + number + " is not a finite number",
                   "finite numbers");
    }
  }
}

/// Throws unless the header has one whole number for each axis, and one for the components.
void checkSizes(const std::string& path, const MetaHeader& header)
{
  const long axes = std::strtol(header.value("NDims").c_str(), nullptr, 10);
  std::istringstream sizes(header.value("DimSize"));
  long given = 0;
  for (long long size = 0; sizes >> size && size >= 0;)
    ++given;
  if (axes < 1 || given != axes || !sizes.eof())
    failToRead(path,
               "NDims = " + header.value("NDims") + ", DimSize = " + header.value("DimSize")
                   + ": not a size of an image",
               "one whole number above 0 for each axis");
  const std::string channels = header.value("ElementNumberOfChannels");
  if (!channels.empty() && std::strtol(channels.c_str(), nullptr, 10) < 1)
    failToRead(path, "ElementNumberOfChannels = " + channels + ": not a number of components",
               "a whole number above 0");
}

std::vector<std::string> wordsOf(const std::string& text)
{
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

/// The files that follow `ElementDataFile = LIST`, one a line. In `LIST 2` the number is that of the axes of
/// each file.
std::vector<std::string> listedFiles(const std::string& path, const MetaHeader& header)
{
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(header.bytes));
  std::vector<std::string> files;
  for (std::string line; std::getline(stream, line);)
    if (const std::string_view name = trimmed(line); !name.empty())
      files.emplace_back(name);
  return files;
}

/// The files of `ElementDataFile = slice%03d.raw FIRST LAST STEP`. Throws if the step is not positive: the
/// library would read without an end.
std::vector<std::string> numberedFiles(const std::string& path, const std::vector<std::string>& words,
                                       long sliceCount)
{
  const auto number = [&](std::size_t word) { return std::strtol(words[word].c_str(), nullptr, 10); };
  const long first = words.size() > 1 ? number(1) : 1;
  const long last = words.size() > 2 ? number(2) : first + sliceCount - 1;
  const long step = words.size() > 3 ? number(3) : words.size() > 2 ? (last - first) / sliceCount : 1;
  const NumberedName nameOf(words.front());
  if (step < 1 || !nameOf.isNumbered() || std::ranges::count(words.front(), '%') > 1)
    failToRead(path, "ElementDataFile: no numbers of slices can be made of it",
               "a name such as slice%03d.raw FIRST LAST STEP");
  std::vector<std::string> files;
  for (long i = first; i <= last && static_cast<long>(files.size()) < sliceCount; i += step)
    files.push_back(nameOf(i));
  return files;
}

/// The files of an image with several data files: how many it needs, and those that its header names.
struct Slices {
  std::uint64_t count = 1;
  std::vector<std::string> files;
};

Slices slicesOf(const std::string& path, const MetaHeader& header)
{
  const std::vector<std::string> words = wordsOf(header.value("ElementDataFile")),
                                 sizes = wordsOf(header.value("DimSize"));
  const bool isListed = words.front() == "LIST";
  const std::size_t given = isListed && words.size() > 1 ? std::strtoul(words[1].c_str(), nullptr, 10) : 0;
  const std::size_t axesOfFile = given == 0 || given > sizes.size() ? sizes.size() - 1 : given;
  Slices slices;
  for (std::size_t axis = axesOfFile; axis < sizes.size(); ++axis)
    slices.count = bytesTimes(slices.count, std::strtoull(sizes[axis].c_str(), nullptr, 10));
  constexpr std::uint64_t maxFiles = 1 << 24;
  slices.files = isListed
                     ? listedFiles(path, header)
                     : numberedFiles(path, words,
                                     static_cast<long>(std::clamp<std::uint64_t>(slices.count, 1, maxFiles)));
  return slices;
}

/// Throws unless all data files exist and are long enough.
void checkSlices(const std::string& path, const MetaHeader& header)
{
  const auto [count, files] = slicesOf(path, header);
  if (files.size() < count)
    failToRead(path,
               "ElementDataFile names " + std::to_string(files.size()) + " files of " + std::to_string(count),
               "a file for each slice");
  const bool hasKnownLength = !isText(header) && !isTrue(header.value("CompressedData"));
  const std::uint64_t needed = hasKnownLength && count > 0 ? voxelBytes(header) / count : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const fs::path file = fs::path(path).parent_path() / files[i];
    requireDataFile(path, file);
    if (fs::file_size(file) < needed)
      failToRead(path,
                 file.string() + " holds " + std::to_string(fs::file_size(file)) + " bytes of the "
                     + std::to_string(needed) + " that its header promises",
                 wholeFile);
  }
}

}

void checkMetaImageFile(const std::string& path)
{
  if (!path.ends_with(".mhd") && !path.ends_with(".mha"))
    return;
  const std::optional<MetaHeader> header = readHeader(path);
  if (!header && beginsAsMetaImage(path))
    failToRead(path, "its header does not come to ElementDataFile", "a whole header");
  if (!header)
    return;
  for (const char* key : {"ElementType", "ElementDataFile"})
    if (header->value(key).empty())
      failToRead(path, "its header has no " + std::string(key), "a whole header");
  checkNumbers(path, *header);
  checkSizes(path, *header);
  const std::string name = header->value("ElementDataFile");
  if (isList(name)) {
    checkSlices(path, *header);
    return;
  }
  const fs::path dataPath = dataFileOf(path, name);
  requireDataFile(path, dataPath);
  const std::uint64_t needed = storedBytes(*header) + (isLocal(name) ? header->bytes : 0);
  const std::uint64_t length = fs::file_size(dataPath);
  if (length < needed)
    failToRead(path,
               dataPath.string() + " holds " + std::to_string(length) + " bytes of the "
                   + std::to_string(needed) + " that its header promises",
               wholeFile);
}

std::vector<std::string> metaImageDataFiles(const std::string& path)
{
  const std::optional<MetaHeader> header =
      path.ends_with(".mhd") || path.ends_with(".mha") ? readHeader(path) : std::optional<MetaHeader>();
  if (!header || header->value("ElementDataFile").empty() || isLocal(header->value("ElementDataFile")))
    return {};
  const std::string name = header->value("ElementDataFile");
  std::vector<std::string> files;
  for (const std::string& file : isList(name) ? slicesOf(path, *header).files : std::vector{name})
    files.push_back(dataFileOf(path, file).string());
  return files;
}

std::optional<VoxelPlace> metaImageVoxels(const std::string& path)
{
  if (!path.ends_with(".mhd") && !path.ends_with(".mha"))
    return std::nullopt;
  const std::optional<MetaHeader> header = readHeader(path);
  if (!header)
    return std::nullopt;
  const std::string dataFile = header->value("ElementDataFile"), skipped = header->value("HeaderSize");
  const std::optional<PixelType> type = pixelTypeOf(header->value("ElementType"));
  if (isList(dataFile) || isText(*header) || !type || (!skipped.empty() && skipped != "0"))
    return std::nullopt;
  const bool bigEndian =
      isTrue(header->value("BinaryDataByteOrderMSB")) || isTrue(header->value("ElementByteOrderMSB"));
  VoxelPlace place{dataFileOf(path, dataFile).string(), FileEncoding::plain,
                   isLocal(dataFile) ? header->bytes : 0, voxelBytes(*header), *type};
  place.swapped = bigEndian != (std::endian::native == std::endian::big);
  if (isTrue(header->value("CompressedData"))) {
    place.encoding = FileEncoding::zlib;
    place.streamAt = std::exchange(place.offset, 0);
    place.zlibBytes = storedBytes(*header);
  }
  return place;
}

}
