#pragma once

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/ImageHead.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// The lines of a MetaImage header.
struct MetaHeader {
  std::map<std::string, std::string> values;
  std::uint64_t bytes = 0; // length of the header with its last line
  std::string twice;       // a key that is there twice
  std::string beforeAxes;  // a list of numbers that stands before NDims

  std::string value(const std::string& key) const
  {
    const auto found = values.find(key);
    return found == values.end() ? "" : found->second;
  }
};

/// Keys with a list of numbers: its length is the number of axes to this power.
inline const std::map<std::string, int>& numbersOfAxes()
{
  static const std::map<std::string, int> keys = {
      {"DimSize", 1}, {"ElementSpacing", 1},   {"ElementSize", 1},     {"Offset", 1},   {"Position", 1},
      {"Origin", 1},  {"CenterOfRotation", 1}, {"TransformMatrix", 2}, {"Rotation", 2}, {"Orientation", 2}};
  return keys;
}

inline bool isNamedMetaImage(const std::string& path)
{
  return path.ends_with(".mhd") || path.ends_with(".mha");
}

/// Reads lines `Key = value` up to ElementDataFile. Empty if the text has no such lines, or lines that are
/// longer than the library has room for.
inline std::optional<MetaHeader> metaHeaderOf(const FileHead& file)
{
  if (!isNamedMetaImage(file.path))
    return std::nullopt;
  constexpr std::size_t longestKey = 250, longestValue = 4000;
  const std::string& text = file.bytes;
  MetaHeader header;
  for (std::size_t start = 0, end = 0; start < text.size(); start = end + 1) {
    end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    if (trimmed(line).empty())
      continue;
    const std::size_t separator = line.find_first_of("=:");
    if (separator == std::string_view::npos || line.find('\0') != std::string_view::npos)
      return std::nullopt;
    const std::string key(trimmed(line.substr(0, separator))), value(trimmed(line.substr(separator + 1)));
    if (key.size() > longestKey || value.size() > longestValue)
      return std::nullopt;
    if (!header.values.emplace(key, value).second)
      header.twice = key;
    if (numbersOfAxes().contains(key) && !header.values.contains("NDims"))
      header.beforeAxes = key;
    header.bytes = std::min(end + 1, text.size());
    if (key == "ElementDataFile")
      return header;
  }
  return std::nullopt;
}

/// The pixel type of an ElementType, if its length is the same on every machine.
inline std::optional<PixelType> metaPixelType(const std::string& type)
{
  return type == "MET_LONG"    ? PixelType::int32 // of 32 bits in the library
         : type == "MET_ULONG" ? PixelType::uint32
                               : pixelTypeNamed(metaTypes, type);
}

/// The library looks at the first letter alone.
inline bool isTrue(const std::string& value)
{
  return !value.empty() && (value[0] == 'T' || value[0] == 't' || value[0] == '1');
}

inline bool isText(const MetaHeader& header)
{
  const std::string binary = header.value("BinaryData");
  return !binary.empty() && !isTrue(binary);
}

/// Length of the voxels before compression; 0 if the header does not say it.
inline std::uint64_t voxelBytes(const MetaHeader& header)
{
  const std::optional<PixelType> type = metaPixelType(header.value("ElementType"));
  std::uint64_t bytes = type ? pixelTypeSize(*type) : 0;
  const std::string channels = header.value("ElementNumberOfChannels");
  if (!channels.empty())
    bytes = bytesTimes(bytes, std::strtoull(channels.c_str(), nullptr, 10));
  for (const std::string& size : wordsOf(header.value("DimSize")))
    bytes = bytesTimes(bytes, numberIn<std::uint64_t>(size).value_or(1));
  return bytes;
}

/// Length of the voxels in the file; 0 if the header does not say it.
inline std::uint64_t storedBytes(const MetaHeader& header)
{
  if (isTrue(header.value("CompressedData")))
    return std::strtoull(header.value("CompressedDataSize").c_str(), nullptr, 10);
  return isText(header) ? 0 : voxelBytes(header);
}

}
