#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <zlib.h>

namespace tessera {
namespace {

/// Reads numbers at any position of a file; beyond its end they are 0.
class FileNumbers {
public:
  explicit FileNumbers(const std::string& path)
  {
    stream_.rdbuf()->pubsetbuf(nullptr, 0); // without a buffer: the numbers lie far from each other
    stream_.open(path, std::ios::binary);
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    bytes_ = failure ? 0 : bytes;
  }

  std::uint64_t fileBytes() const { return bytes_; }

  std::uint64_t at(std::uint64_t position, std::size_t byteCount, bool largestFirst)
  {
    if (position > bytes_ || bytes_ - position < byteCount)
      return 0;
    std::array<unsigned char, 8> bytes{};
    stream_.seekg(static_cast<std::streamoff>(position));
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(byteCount));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < byteCount; ++i)
      value |= static_cast<std::uint64_t>(bytes[i]) << 8 * (largestFirst ? byteCount - 1 - i : i);
    return value;
  }

private:
  std::ifstream stream_;
  std::uint64_t bytes_ = 0;
};

/// Whether all chunks of a PNG (RFC 2083, 3.2) up to the last one are there with the right checksums.
bool pngIsWhole(FileNumbers& file, const std::string& path)
{
  constexpr std::uint64_t headBytes = 8, checksumBytes = 4;
  std::ifstream stream(path, std::ios::binary);
  std::vector<unsigned char> chunk;
  for (std::uint64_t position = 8; position + headBytes + checksumBytes <= file.fileBytes();) {
    const std::uint64_t length = file.at(position, 4, true), end = position + headBytes + length;
    if (end + checksumBytes > file.fileBytes()
        || (position == 8) != (file.at(position + 4, 4, true) == 0x49484452)) // IHDR
      return false;
    chunk.resize(4 + length);
    stream.seekg(static_cast<std::streamoff>(position + 4));
    stream.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
    if (crc32_z(0, chunk.data(), chunk.size()) != file.at(end, 4, true))
      return false;
    if (file.at(position + 4, 4, true) == 0x49454e44) // IEND
      return true;
    position = end + checksumBytes;
  }
  return false;
}

/// The elements of a DICOM file (PS3.5, 7.1) in order, with those inside sequences and fragments of undefined
/// length.
class DicomElements {
public:
  explicit DicomElements(FileNumbers& file) : file_(file) {}

  /// Whether the last element ends in the file. True for a file in a transfer syntax that is not known here.
  bool areWhole()
  {
    std::uint64_t position = 132;
    while (position + 8 <= file_.fileBytes()) {
      const std::uint64_t group = number(position, 2), element = number(position + 2, 2);
      const std::string kind = text(position + 4, 2);
      const bool isItem = group == 0xfffe, hasKind = !isItem && (group == 2 || !isImplicit_);
      if (hasKind && (kind < "AA" || kind > "ZZ" || kind == "UN"))
        return true;
      const bool isLong =
          hasKind && std::string("OB OD OF OL OV OW SQ SV UC UR UT UV").find(kind) != std::string::npos;
      const std::uint64_t headBytes = isLong ? 12 : 8;
      const std::uint64_t length = isLong    ? number(position + 8, 4)
                                   : hasKind ? number(position + 6, 2)
                                             : number(position + 4, 4);
      if (group == 2 && element == 0x10 && !readOrder(text(position + headBytes, length)))
        return true;
      position += headBytes + (length == untilDelimiter ? 0 : length);
    }
    return position <= file_.fileBytes();
  }

private:
  static constexpr std::uint64_t untilDelimiter = 0xffffffff;

  std::uint64_t number(std::uint64_t position, std::size_t bytes) { return file_.at(position, bytes, false); }

  std::string text(std::uint64_t position, std::uint64_t length)
  {
    std::string letters;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(length, 64); ++i)
      if (const auto letter = static_cast<char>(number(position + i, 1)); letter != '\0')
        letters += letter;
    return letters;
  }

  /// Reads the transfer syntax. False if numbers are big-endian or the file is deflated.
  bool readOrder(const std::string& transferSyntax)
  {
    isImplicit_ = transferSyntax == "1.2.840.10008.1.2";
    return transferSyntax != "1.2.840.10008.1.2.2" && transferSyntax != "1.2.840.10008.1.2.1.99";
  }

  FileNumbers& file_;
  bool isImplicit_ = false;
};

/// The smallest length of a bitmap with this header.
std::uint64_t bitmapBytes(FileNumbers& file)
{
  const std::uint64_t start = file.at(10, 4, false), compression = file.at(30, 4, false);
  const auto width = static_cast<std::int32_t>(file.at(18, 4, false)),
             height = static_cast<std::int32_t>(file.at(22, 4, false));
  if (compression != 0)
    return start + file.at(34, 4, false);
  const std::uint64_t lineBytes =
      (static_cast<std::uint64_t>(std::abs(std::int64_t(width))) * file.at(28, 2, false) + 31) / 32 * 4;
  return start + lineBytes * static_cast<std::uint64_t>(std::abs(std::int64_t(height)));
}

/// The directories of a TIFF file, one a slice, and the pixels to which they point (TIFF 6.0, section 2;
/// BigTIFF with longer numbers).
class TiffDirectories {
public:
  explicit TiffDirectories(FileNumbers& file)
      : file_(file), largestFirst_(file.at(0, 1, false) == 'M'), isBig_(number(2, 2) == 43)
  {
  }

  /// Whether all directories and their pixels lie in the file.
  bool areWhole()
  {
    std::uint64_t position = isBig_ ? number(8, 8) : number(4, 4);
    for (std::uint64_t left = file_.fileBytes() / 6; position != 0;
         --left) { // a directory has 6 bytes or more
      const std::uint64_t countBytes = isBig_ ? 8 : 2, offsetBytes = isBig_ ? 8 : 4,
                          entryBytes = isBig_ ? 20 : 12;
      const std::uint64_t count = number(position, countBytes),
                          next = position + countBytes + count * entryBytes;
      if (left == 0 || count == 0 || count > file_.fileBytes() / entryBytes
          || next + offsetBytes > file_.fileBytes())
        return false;
      if (!holdsPixels(position + countBytes, count, entryBytes))
        return false;
      position = number(next, offsetBytes);
    }
    return true;
  }

private:
  struct Values {
    std::uint64_t position = 0, count = 0;
    std::size_t bytes = 0; // bytes of each value
  };

  std::uint64_t number(std::uint64_t position, std::size_t bytes)
  {
    return file_.at(position, bytes, largestFirst_);
  }

  Values valuesOf(std::uint64_t entry)
  {
    const std::uint64_t type = number(entry + 2, 2), place = entry + (isBig_ ? 12 : 8), room = isBig_ ? 8 : 4;
    Values values{place, number(entry + 4, isBig_ ? 8 : 4), type == 3 ? 2u : type == 16 ? 8u : 4u};
    if (values.count > room / values.bytes)
      values.position = number(place, room);
    return values;
  }

  /// Whether all strips or tiles of a directory lie in the file.
  bool holdsPixels(std::uint64_t entry, std::uint64_t entryCount, std::uint64_t entryBytes)
  {
    Values offsets, lengths;
    for (std::uint64_t i = 0; i < entryCount; ++i, entry += entryBytes) {
      const std::uint64_t tag = number(entry, 2);
      if (tag == 273 || tag == 324)
        offsets = valuesOf(entry);
      else if (tag == 279 || tag == 325)
        lengths = valuesOf(entry);
    }
    for (std::uint64_t i = 0; i < std::min(offsets.count, lengths.count); ++i) {
      const std::uint64_t start = number(offsets.position + i * offsets.bytes, offsets.bytes);
      const std::uint64_t length = number(lengths.position + i * lengths.bytes, lengths.bytes);
      if (start == 0 || start > file_.fileBytes() || length > file_.fileBytes() - start)
        return false;
    }
    return true;
  }

  FileNumbers& file_;
  bool largestFirst_, isBig_;
};

}

void checkPictureFile(const std::string& path)
{
  FileNumbers file(path);
  const std::uint64_t start = file.at(0, 4, true);
  const bool isTiff =
      start == 0x49492a00 || start == 0x4d4d002a || start == 0x49492b00 || start == 0x4d4d002b;
  const bool isJpeg = start >> 16 == 0xffd8, isBitmap = start >> 16 == 0x424d && hasEnding(path, ".bmp");
  const bool isDicom = file.at(128, 4, true) == 0x4449434d;
  const bool isPng = start == 0x89504e47;
  const bool isWhole = isDicom
                           ? DicomElements(file).areWhole() // first: some DICOM files begin as a TIFF as well
                       : isTiff   ? TiffDirectories(file).areWhole()
                       : isJpeg   ? jpegIsWhole(path)
                       : isPng    ? pngIsWhole(file, path)
                       : isBitmap ? file.fileBytes() >= bitmapBytes(file)
                                  : true;
  if (!isWhole)
    failToRead(path, "the picture is cut off or damaged", wholeFile);
}

}
