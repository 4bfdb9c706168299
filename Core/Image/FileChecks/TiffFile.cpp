#include "Core/Image/FileChecks/TiffFile.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include <zlib.h>

namespace tessera {
namespace {

enum Compression : std::uint64_t {
  notCompressed = 1,
  lzw = 5,
  deflate = 8,
  packBits = 32773,
  oldDeflate = 32946
};
enum Format : std::uint64_t { unsignedFormat = 1, signedFormat = 2, floatFormat = 3 };

template <class... Values>
bool isOneOf(std::uint64_t value, Values... others)
{
  return ((value == static_cast<std::uint64_t>(others)) || ...);
}

std::optional<PixelType> typeOf(const TiffPicture& picture)
{
  const bool isFloat = picture.format == floatFormat, isSigned = picture.format == signedFormat;
  switch (picture.bits) {
  case 8:
    return isFloat ? std::nullopt : std::optional(isSigned ? PixelType::int8 : PixelType::uint8);
  case 16:
    return isFloat ? std::nullopt : std::optional(isSigned ? PixelType::int16 : PixelType::uint16);
  case 32:
    return isFloat ? PixelType::float32 : isSigned ? PixelType::int32 : PixelType::uint32;
  case 64:
    return isFloat ? PixelType::float64 : isSigned ? PixelType::int64 : PixelType::uint64;
  default:
    return std::nullopt;
  }
}

bool isLongInteger(const TiffPicture& picture)
{
  return picture.bits == 32 && isOneOf(picture.format, unsignedFormat, signedFormat);
}

/// Whether each pixel has several numbers, of which ITK 5.2 makes as many pixels. Those it writes are marked
/// as red, green and blue, and come back.
bool hasChannels(const TiffPicture& picture)
{
  return picture.samples > 1 && picture.photometric <= 1;
}

bool isHalfFloat(const TiffPicture& picture)
{
  return picture.bits == 16 && picture.format == floatFormat;
}

/// Whether ITK 5.2 has libtiff make 8 bits of red, green, blue and opacity of a picture.
bool isReadAsColour(const TiffPicture& picture)
{
  return picture.isTiled() || picture.planes != 1 || picture.orientation > 1
         || !isOneOf(picture.compression, notCompressed, lzw, deflate, packBits, oldDeflate);
}

/// Whether ITK 5.2 reads other numbers than the file has, or none.
bool isMisread(const TiffPicture& picture)
{
  const bool isWide = picture.bits > 8 || picture.format == signedFormat,
             isGrey = picture.samples == 1 && picture.photometric <= 1;
  const std::uint64_t mostTurned = isGrey ? 1 : 4; // libtiff flips colours, and exchanges no rows and columns
  return hasChannels(picture) || picture.orientation > mostTurned || isLongInteger(picture)
         || picture.bits > 32 || isHalfFloat(picture) || (isWide && isReadAsColour(picture));
}

/// Long integers in tiles are not among these: ITK does not even read their header.
bool isReadHere(const TiffPicture& picture)
{
  const bool isTurned = picture.orientation > 1;
  return (picture.isTiled() ? picture.bits <= 16 : isLongInteger(picture) || isTurned) && typeOf(picture)
         && picture.samples == 1 && picture.photometric == 1 && picture.orientation <= 4
         && isOneOf(picture.compression, notCompressed, deflate, oldDeflate)
         && (picture.predictor == 1 || picture.predictor == 2);
}

bool isLike(const TiffPicture& a, const TiffPicture& b)
{
  return a.width == b.width && a.height == b.height && typeOf(a) == typeOf(b) && a.bits == b.bits
         && a.samples == b.samples && a.photometric == b.photometric;
}

[[noreturn]] void failAsMisread(const std::string& path, const TiffPicture& picture)
{
  const std::string file = std::filesystem::path(path).filename().string(),
                    bits = std::to_string(picture.bits) + " bits a sample",
                    otherFormat = "another format, such as MetaImage or NRRD";
  if (hasChannels(picture))
    failToRead(path,
               std::to_string(picture.samples)
                   + " samples a pixel (channels, or grey and opacity) are not read from TIFF",
               "1 sample a pixel, red, green and blue with or without opacity, or " + otherFormat);
  if (isHalfFloat(picture) || picture.bits > 32)
    failToRead(path, (isHalfFloat(picture) ? "floats of " : "numbers of ") + bits + " are not read from TIFF",
               "whole numbers of 8, 16 or 32 bits, floats of 32 bits, or " + otherFormat);
  if (picture.orientation > 1)
    failToRead(path, bits + " are not read from TIFF with Orientation " + std::to_string(picture.orientation),
               "Orientation 1, rows from the top and pixels from the left: magick " + file
                   + " -auto-orient out.tif");
  if (picture.isTiled() || picture.planes != 1)
    failToRead(path,
               bits
                   + " are not read from TIFF in planes or tiles, but for tiles of 8 or 16 bits of grey "
                     "(BlackIsZero) that are not compressed or deflated",
               "strips: tiffcp -s -p contig -c zip " + file + " out.tif");
  if (isLongInteger(picture))
    failToRead(path,
               "whole numbers of " + bits
                   + " are read from TIFF only if all slices are alike, grey (BlackIsZero), and not "
                     "compressed or deflated; Compression is "
                   + std::to_string(picture.compression),
               "tiffcp -c zip " + file + " out.tif, 8 or 16 bits a sample, or " + otherFormat);
  failToRead(path, bits + " are not read from TIFF with Compression " + std::to_string(picture.compression),
             "tiffcp -c zip " + file + " out.tif, or " + otherFormat);
}

/// Reads pictures of one type.
template <class T>
class PixelReader {
public:
  PixelReader(const std::string& path, TiffFile& file) : path_(path), file_(file), input_(path) {}

  void read(const TiffPicture& picture, T* pixels)
  {
    const std::uint64_t width = picture.isTiled() ? picture.tileWidth : picture.width,
                        height = picture.isTiled() ? picture.tileHeight
                                                   : std::min(picture.rowsOfStrip, picture.height);
    std::uint64_t block = 0;
    for (std::uint64_t top = 0; top < picture.height; top += height)
      for (std::uint64_t left = 0; left < picture.width; left += width, ++block) {
        const std::uint64_t rows = std::min(height, picture.height - top),
                            columns = std::min(width, picture.width - left);
        readBlock(picture, block, width, picture.isTiled() ? height : rows);
        for (std::uint64_t y = 0; y < rows; ++y)
          std::copy_n(values_.begin() + y * width, columns, pixels + (top + y) * picture.width + left);
      }
    // TIFF 6.0, section 8: the side of the picture at which the first row and the first column lie
    if (picture.orientation == 3 || picture.orientation == 4)
      for (std::uint64_t y = 0; y < picture.height / 2; ++y)
        std::swap_ranges(pixels + y * picture.width, pixels + (y + 1) * picture.width,
                         pixels + (picture.height - 1 - y) * picture.width);
    if (picture.orientation == 2 || picture.orientation == 3)
      for (std::uint64_t y = 0; y < picture.height; ++y)
        std::reverse(pixels + y * picture.width, pixels + (y + 1) * picture.width);
  }

private:
  void require(bool isRight) const
  {
    if (!isRight)
      failToRead(path_, damagedPicture, wholeFile);
  }

  void readBlock(const TiffPicture& picture, std::uint64_t block, std::uint64_t width, std::uint64_t height)
  {
    require(width > 0 && height > 0 && block < std::min(picture.offsets.count, picture.lengths.count));
    const std::uint64_t stored = file_.value(picture.lengths, block),
                        needed = bytesTimes(bytesTimes(width, height), sizeof(T));
    const bool isDeflated = picture.compression != notCompressed;
    require(isDeflated ? needed <= bytesTimes(stored, maxInflation) : needed <= stored);
    values_.resize(width * height);
    const std::span bytes(reinterpret_cast<unsigned char*>(values_.data()), needed);
    const std::uint64_t offset = file_.value(picture.offsets, block);
    if (isDeflated) {
      stored_.resize(stored);
      require(input_.read(offset, stored_.data(), stored) == stored);
      uLongf inflated = bytes.size();
      const int outcome = uncompress(bytes.data(), &inflated, stored_.data(), stored_.size());
      require(outcome == Z_OK && inflated == needed);
    } else
      require(input_.read(offset, bytes.data(), needed) == needed);
    if (file_.largestFirst())
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
        std::reverse(bytes.begin() + i, bytes.begin() + i + sizeof(T));
    if constexpr (std::is_integral_v<T>)
      if (picture.predictor == 2) // TIFF 6.0, section 14: differences along rows
        for (std::size_t i = 0; i < values_.size(); ++i)
          if (i % width != 0)
            values_[i] = static_cast<T>(static_cast<std::uint64_t>(values_[i])
                                        + static_cast<std::uint64_t>(values_[i - 1]));
  }

  const std::string& path_;
  TiffFile& file_;
  InputFile input_;
  std::vector<T> values_;
  std::vector<unsigned char> stored_;
};

}

bool TiffFile::readDirectories()
{
  bool hasAside = false;
  std::uint64_t position = isBig_ ? number(8, 8) : number(4, 4);
  for (std::uint64_t left = file_.fileBytes() / 6; position != 0; --left) { // a directory has 6 bytes or more
    const std::uint64_t countBytes = isBig_ ? 8 : 2, offsetBytes = isBig_ ? 8 : 4,
                        entryBytes = isBig_ ? 20 : 12;
    const std::uint64_t count = number(position, countBytes),
                        next = position + countBytes + count * entryBytes;
    if (left == 0 || count == 0 || count > file_.fileBytes() / entryBytes
        || next + offsetBytes > file_.fileBytes())
      return false;
    TiffPicture picture = pictureOf(position + countBytes, count, entryBytes);
    if (!holdsPixels(picture))
      return false;
    picture.isBehindAside = hasAside;
    hasAside = hasAside || picture.isAside();
    if (!picture.isAside())
      pictures_.push_back(picture);
    position = number(next, offsetBytes);
  }
  return true;
}

TiffValues TiffFile::valuesOf(std::uint64_t entry)
{
  const std::uint64_t type = number(entry + 2, 2), place = entry + (isBig_ ? 12 : 8), room = isBig_ ? 8 : 4;
  TiffValues values{place, number(entry + 4, isBig_ ? 8 : 4),
                    type == 2                 ? 1u
                    : type == 3               ? 2u
                    : type == 5 || type == 16 ? 8u
                                              : 4u};
  if (values.count > room / values.bytes)
    values.position = number(place, room);
  return values;
}

TiffPicture TiffFile::pictureOf(std::uint64_t entry, std::uint64_t entryCount, std::uint64_t entryBytes)
{
  TiffPicture picture;
  const std::pair<std::uint64_t, std::uint64_t*> numbers[] = {
      {254, &picture.subfile},     {256, &picture.width},       {257, &picture.height},
      {258, &picture.bits},        {259, &picture.compression}, {262, &picture.photometric},
      {274, &picture.orientation}, {277, &picture.samples},     {278, &picture.rowsOfStrip},
      {282, &picture.xResolution}, {283, &picture.yResolution}, {284, &picture.planes},
      {317, &picture.predictor},   {322, &picture.tileWidth},   {323, &picture.tileHeight},
      {339, &picture.format}};
  for (std::uint64_t i = 0; i < entryCount; ++i, entry += entryBytes) {
    const std::uint64_t tag = number(entry, 2);
    const TiffValues values = valuesOf(entry);
    if (tag == 273 || tag == 324)
      picture.offsets = values;
    else if (tag == 279 || tag == 325)
      picture.lengths = values;
    else if (tag == 270)
      picture.description = values;
    for (const auto& [known, to] : numbers)
      if (tag == known)
        *to = value(values, 0);
  }
  if (picture.format == 4) // not defined: libtiff's default
    picture.format = unsignedFormat;
  return picture;
}

bool TiffFile::holdsPixels(const TiffPicture& picture)
{
  for (std::uint64_t i = 0; i < std::min(picture.offsets.count, picture.lengths.count); ++i) {
    const std::uint64_t start = value(picture.offsets, i), length = value(picture.lengths, i);
    if (start == 0 || start > file_.fileBytes() || length > file_.fileBytes() - start)
      return false;
  }
  return true;
}

TiffText textOf(TiffFile& file, const std::string& path)
{
  const TiffPicture first = file.pictures().empty() ? TiffPicture{} : file.pictures().front();
  constexpr std::uint64_t longest = 1 << 20;
  std::string text =
      bytesOfFile(path, first.description.position, std::min(first.description.count, longest));
  const bool isOme = text.find("<OME") != std::string::npos, isImageJ = text.starts_with("ImageJ=");
  TiffText result;
  result.writer = isOme ? "OME" : isImageJ ? "ImageJ" : "";
  const auto count = [](std::string_view number) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(1, wholeNumber(std::string(number)).value_or(1)));
  };
  if (const std::string shape = textBehind(text, "\"shape\": [", "]");
      text.starts_with('{') && !shape.empty()) {
    std::vector<std::string> sizes = cellsOf(shape, ',');
    if (first.samples > 1 && first.planes == 1)
      sizes.pop_back();
    result.writer = "tifffile";
    const std::size_t at = sizes.size() - 3; // of the axis before rows and columns
    const std::string axes = textBehind(text, "\"axes\": \"", "\"");
    const char axis = sizes.size() > 2 && axes.size() > at ? axes[at] : 'Z';
    result.pictures = sizes.size() > 2 ? count(trimmed(sizes[at])) : 1;
    (axis == 'C' ? result.channels : axis == 'T' ? result.frames : result.slices) = result.pictures;
  }
  if (!isOme && !isImageJ)
    return result;
  if (isOme)
    text = textBehind(text, "<Pixels", ">");
  const auto value = [&](const std::string& ome, const std::string& imageJ) {
    return isOme ? textBehind(text, " " + ome + "=\"", "\"") : textBehind(text, "\n" + imageJ + "=", "\r\n");
  };
  const auto size = [&](const std::string& ome, const std::string& imageJ, double otherwise) {
    return finiteNumber(value(ome, imageJ)).value_or(otherwise);
  };
  const auto pixel = [&](std::uint64_t fraction) { // its first number comes first in the file
    const auto low = static_cast<double>(fraction & 0xffffffff), high = static_cast<double>(fraction >> 32);
    return isOme ? 0 : low == 0 || high == 0 ? 1 : file.largestFirst() ? low / high : high / low;
  };
  result.channels = count(value("SizeC", "channels"));
  result.frames = count(value("SizeT", "frames"));
  result.pictures = count(value("", "images"));
  result.slices = value("SizeZ", "slices").empty()
                      ? std::max<std::uint64_t>(1, result.pictures / result.channels / result.frames)
                      : count(value("SizeZ", "slices"));
  result.voxel = {size("PhysicalSizeX", "", pixel(first.xResolution)),
                  size("PhysicalSizeY", "", pixel(first.yResolution)),
                  size("PhysicalSizeZ", "spacing", isOme ? 0 : 1)};
  result.unit = value("PhysicalSizeXUnit", "unit");
  if (const std::string offset = value("", "c0"); !offset.empty())
    result.scale = offset + " + " + value("", "c1") + " * stored number"
                   + (value("", "cf") == "0" ? "" : ", by function " + value("", "cf"));
  if (isOme && result.unit.empty())
    result.unit = "um"; // the default of OME-XML
  return result;
}

void refuseMisreadTiff(TiffFile& file, const std::string& path, bool framesAreSlices)
{
  const std::vector<TiffPicture>& pictures = file.pictures();
  const TiffText text = textOf(file, path);
  const std::uint64_t slices = framesAreSlices && text.slices == 1 ? text.frames : text.slices;
  if (!text.writer.empty() && (pictures.size() > slices || pictures.size() < text.pictures))
    failToRead(
        path,
        "the text of " + text.writer + " in it names " + std::to_string(text.channels) + " channels, "
            + std::to_string(text.slices) + " slices and " + std::to_string(text.frames)
            + " frames, and it holds " + std::to_string(pictures.size())
            + " pictures: they are not the slices of one volume",
        "one channel at one time, with a directory for each slice; Fiji makes it by Image > Duplicate, and "
        "slices of frames by Image > Properties");
  const auto misread = std::ranges::find_if(pictures, isMisread);
  if (tiffPixels(file))
    return;
  if (misread != pictures.end())
    failAsMisread(path, *misread);
  // ITK 5.2 reads all of them as it reads the first, and leaves room in the volume for those aside.
  if (std::ranges::any_of(pictures, [&](const TiffPicture& other) {
        return other.isBehindAside || !isLike(pictures.front(), other);
      }))
    failToRead(path,
               "a page is of another size or type than the first one, or follows a smaller copy or a mask",
               "pages of one kind, with nothing between them");
}

std::optional<TiffPixels> tiffPixels(const TiffFile& file)
{
  const std::vector<TiffPicture>& pictures = file.pictures();
  if (!file.isWhole() || pictures.empty())
    return std::nullopt;
  const TiffPicture& first = pictures.front();
  const bool areReadHere = std::ranges::all_of(
      pictures, [&](const TiffPicture& other) { return isReadHere(other) && isLike(first, other); });
  if (!areReadHere)
    return std::nullopt;
  return TiffPixels{*typeOf(first), first.width, first.height, pictures.size()};
}

void readTiffPixels(TiffFile& file, const std::string& path, std::byte* pixels)
{
  withPixelType(*typeOf(file.pictures().front()), [&]<class T>(std::type_identity<T>) {
    PixelReader<T> reader(path, file);
    T* to = reinterpret_cast<T*>(pixels);
    for (const TiffPicture& picture : file.pictures()) {
      reader.read(picture, to);
      to += picture.width * picture.height;
    }
  });
}

}
