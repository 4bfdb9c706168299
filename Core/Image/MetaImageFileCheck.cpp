#include "Core/Image/FileCheck.h"
#include "Core/Image/InputError.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct MetaHeader {
  std::map<std::string, std::string> values;
  std::uint64_t bytes = 0; // of the header, its last line included

  std::string value(const std::string& key) const
  {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }
};

std::string trimmed(const std::string& text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Lines `Key = value` up to ElementDataFile; nothing if the text is not of that kind.
std::optional<MetaHeader> readHeader(const std::string& path)
{
  constexpr std::uint64_t limit = 1 << 16; // a header is shorter; other files may be one endless line
  std::ifstream stream(path, std::ios::binary);
  std::string text(limit, '\0');
  stream.read(text.data(), limit);
  text.resize(static_cast<std::size_t>(stream.gcount()));
  MetaHeader header;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = text.substr(start, end - start);
    const std::size_t separator = line.find_first_of("=:");
    if (separator == std::string::npos)
      return std::nullopt;
    const std::string key = trimmed(line.substr(0, separator));
    header.values[key] = trimmed(line.substr(separator + 1));
    header.bytes = end + 1;
    if (key == "ElementDataFile")
      return header;
  }
  return std::nullopt;
}

/// 0 if the type is none of those whose length is the same everywhere.
std::uint64_t elementBytes(const std::string& type)
{
  static const std::map<std::string, std::uint64_t> bytes = {
      {"MET_CHAR", 1}, {"MET_UCHAR", 1},     {"MET_SHORT", 2},      {"MET_USHORT", 2}, {"MET_INT", 4},
      {"MET_UINT", 4}, {"MET_LONG_LONG", 8}, {"MET_ULONG_LONG", 8}, {"MET_FLOAT", 4},  {"MET_DOUBLE", 8}};
  const auto found = bytes.find(type);
  return found == bytes.end() ? 0 : found->second;
}

/// Length of the voxels in the file; 0 if the header does not tell it.
std::uint64_t storedBytes(const MetaHeader& header)
{
  const std::string compressed = header.value("CompressedData");
  if (!compressed.empty() && (compressed[0] == 'T' || compressed[0] == 't' || compressed[0] == '1'))
    return std::strtoull(header.value("CompressedDataSize").c_str(), nullptr, 10);
  const std::string binary = header.value("BinaryData");
  if (!binary.empty() && (binary[0] == 'F' || binary[0] == 'f' || binary[0] == '0'))
    return 0;
  std::uint64_t bytes = elementBytes(header.value("ElementType"));
  const std::string channels = header.value("ElementNumberOfChannels");
  if (!channels.empty())
    bytes *= std::strtoull(channels.c_str(), nullptr, 10);
  std::istringstream sizes(header.value("DimSize"));
  for (std::uint64_t size = 0; sizes >> size;)
    bytes *= size;
  return bytes;
}

void checkNumbers(const std::string& path, const MetaHeader& header)
{
  for (const char* key :
       {"ElementSpacing", "ElementSize", "Offset", "Position", "Origin", "TransformMatrix", "Rotation", "Orientation"}) {
    std::istringstream numbers(header.value(key));
    for (std::string number; numbers >> number;) {
      char* end = nullptr;
      const double value = std::strtod(number.c_str(), &end);
      if (*end != '\0' || !std::isfinite(value))
        failToRead(path, std::string(key) + " = " + header.value(key) + ": " + number + " is not a finite number",
                   "finite numbers");
    }
  }
}

/// One whole number for each axis.
void checkSizes(const std::string& path, const MetaHeader& header)
{
  const long axes = std::strtol(header.value("NDims").c_str(), nullptr, 10);
  std::istringstream sizes(header.value("DimSize"));
  long given = 0;
  for (long long size = 0; sizes >> size && size >= 0;)
    ++given;
  if (axes < 1 || given != axes || !sizes.eof())
    failToRead(path, "NDims = " + header.value("NDims") + ", DimSize = " + header.value("DimSize") + ": not a size of an image",
               "one whole number above 0 for each axis");
}

}

void checkMetaImageFile(const std::string& path)
{
  if (!path.ends_with(".mhd") && !path.ends_with(".mha"))
    return;
  const std::optional<MetaHeader> header = readHeader(path);
  if (!header)
    return;
  checkNumbers(path, *header);
  checkSizes(path, *header);
  const std::string name = header->value("ElementDataFile");
  if (name.starts_with("LIST") || name.find('%') != std::string::npos)
    return;
  const bool local = name == "LOCAL" || name == "Local" || name == "local";
  const fs::path dataPath = local ? fs::path(path) : fs::path(path).parent_path() / name;
  if (!fs::exists(dataPath))
    failToRead(path, "its data file " + dataPath.string() + " is missing", "a data file where ElementDataFile says");
  const std::uint64_t needed = storedBytes(*header) + (local ? header->bytes : 0);
  const std::uint64_t length = fs::file_size(dataPath);
  if (length < needed)
    failToRead(path,
               dataPath.string() + " holds " + std::to_string(length) + " bytes of the " + std::to_string(needed)
                   + " that its header promises",
               wholeFile);
}

}
