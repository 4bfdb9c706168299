#include "Core/Image/WholeFile.h"

#include "Core/Compute/Error.h"
#include "Core/Image/ImageSource.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::uint64_t sizeOf(const fs::path& path)
{
  std::error_code missing;
  const std::uint64_t size = fs::file_size(path, missing);
  return missing ? 0 : size;
}

/// `count` bytes from `position`, counted from the end if it is negative; fewer if the file is shorter.
std::string bytesOf(const fs::path& path, std::int64_t position, std::size_t count)
{
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(position, position < 0 ? std::ios::end : std::ios::beg);
  std::string bytes(count, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::uint32_t littleEndian32(const std::string& bytes)
{
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

/// A gzip stream ends with the length of what it holds, modulo 2^32 (RFC 1952).
bool gzipHolds(const fs::path& path, std::uint64_t byteCount)
{
  return sizeOf(path) > 18 && littleEndian32(bytesOf(path, -4, 4)) == static_cast<std::uint32_t>(byteCount);
}

/// Position after the first `mark` and the rest of its line.
std::optional<std::uint64_t> endOfLineWith(const std::string& text, const std::string& mark)
{
  const std::size_t found = text.find(mark);
  const std::size_t end = found == std::string::npos ? found : text.find('\n', found + mark.size() - 1);
  return end == std::string::npos ? std::nullopt : std::optional<std::uint64_t>(end + 1);
}

constexpr std::size_t textHeaderLimit = 16384;

bool metaImageIsWhole(const fs::path& path, std::uint64_t byteCount)
{
  const std::string header = bytesOf(path, 0, textHeaderLimit);
  const std::optional<std::uint64_t> end = endOfLineWith(header, "ElementDataFile = ");
  if (!end)
    return false;
  const std::string compressedKey = "CompressedDataSize = ";
  const std::size_t compressed = header.find(compressedKey);
  const bool isCompressed = compressed < *end;
  const std::uint64_t stored = isCompressed ? std::stoull(header.substr(compressed + compressedKey.size(), 20)) : byteCount;
  if (header.find("ElementDataFile = LOCAL") < *end)
    return sizeOf(path) == *end + stored;
  return sizeOf(fs::path(path).replace_extension(isCompressed ? ".zraw" : ".raw")) == stored;
}

bool nrrdIsWhole(const fs::path& path, std::uint64_t byteCount)
{
  const std::string header = bytesOf(path, 0, textHeaderLimit);
  const bool gzip = header.find("\nencoding: gz") != std::string::npos;
  if (header.find("\ndata file: ") != std::string::npos) {
    const fs::path data = fs::path(path).replace_extension(gzip ? ".raw.gz" : ".raw");
    return gzip ? gzipHolds(data, byteCount) : sizeOf(data) == byteCount;
  }
  const std::optional<std::uint64_t> end = endOfLineWith(header, "\n\n");
  return end && (gzip ? gzipHolds(path, byteCount) : sizeOf(path) == *end + byteCount);
}

/// NIfTI and GIPL: a header of fixed size and then the voxels, all of it compressed or nothing.
bool fixedHeaderIsWhole(const fs::path& path, std::uint64_t headerBytes, std::uint64_t byteCount)
{
  return path.extension() == ".gz" ? gzipHolds(path, headerBytes + byteCount) : sizeOf(path) == headerBytes + byteCount;
}

/// Analyze and NIfTI in two files; `path` is any of the two.
bool pairIsWhole(const fs::path& path, std::uint64_t byteCount)
{
  const fs::path stem = path.parent_path() / (path.extension() == ".gz" ? path.stem().stem() : path.stem());
  const auto named = [&](const char* extension) { return fs::path(stem.string() + extension); };
  const std::uint64_t headerBytes = 348;
  const bool gzip = fs::exists(named(".img.gz"));
  const bool header = gzip ? sizeOf(named(".hdr.gz")) > 18 || sizeOf(named(".hdr")) >= headerBytes : sizeOf(named(".hdr")) >= headerBytes;
  return header && fixedHeaderIsWhole(named(gzip ? ".img.gz" : ".img"), 0, byteCount);
}

/// Reads the file again; voxels are compared where the format keeps them.
bool readsBack(const std::string& path, const void* voxels, std::uint64_t byteCount)
{
  try {
    const std::unique_ptr<ImageSource> source = openImage(path);
    std::vector<char> bytes(source->byteCount());
    std::vector<std::string> notes;
    source->read(bytes.data(), notes);
    return bytes.size() != byteCount || std::memcmp(bytes.data(), voxels, byteCount) == 0;
  } catch (const Error&) {
    return false;
  }
}

}

bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels, std::size_t byteCount)
{
  constexpr std::uint64_t niftiHeaderBytes = 352, giplHeaderBytes = 256;
  if (format == "mhd" || format == "mha")
    return metaImageIsWhole(path, byteCount);
  if (format == "nrrd" || format == "nhdr")
    return nrrdIsWhole(path, byteCount);
  if (format == "nii" || format == "nii.gz")
    return fixedHeaderIsWhole(path, niftiHeaderBytes, byteCount);
  if (format == "gipl" || format == "gipl.gz")
    return fixedHeaderIsWhole(path, giplHeaderBytes, byteCount);
  if (format == "hdr" || format == "img" || format == "img.gz")
    return pairIsWhole(path, byteCount);
  if (format == "jpg" || format == "jpeg")
    return bytesOf(path, -2, 2) == "\xff\xd9";
  if (format == "bmp")
    return sizeOf(path) > 54 && littleEndian32(bytesOf(path, 2, 4)) == sizeOf(path);
  return readsBack(path, voxels, byteCount);
}

}
