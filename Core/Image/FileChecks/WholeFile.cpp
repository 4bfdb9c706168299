#include "Core/Image/FileChecks/WholeFile.h"

#include "Core/Compute/Error.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/ImageSource.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

namespace tessera {
namespace {

bool jpegEnds(const std::string& path)
{
  return bytesOfFile(path, -2, 2) == "\xff\xd9"; // end of image
}

bool bitmapIsWhole(const std::string& path)
{
  const std::string stated = bytesOfFile(path, 2, 4);
  std::uintmax_t length = 0;
  for (std::size_t i = 0; i < stated.size(); ++i)
    length |= static_cast<std::uintmax_t>(static_cast<unsigned char>(stated[i])) << (8 * i);
  return length > 0 && std::filesystem::file_size(path) == length;
}

bool readsBackEqual(const std::string& path, const void* voxels, std::size_t byteCount)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  std::vector<std::byte> bytes(source->byteCount());
  std::vector<std::string> notes;
  source->read(bytes.data(), 1, notes);
  return bytes.size() == byteCount && std::memcmp(bytes.data(), voxels, byteCount) == 0;
}

/// Formats whose length openImage checks.
bool lengthIsChecked(const std::string& format)
{
  for (const char* checked : {"mhd", "mha", "nii", "nii.gz", "hdr", "img"})
    if (format == checked)
      return true;
  return false;
}

}

bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels,
                      std::size_t byteCount)
{
  try {
    if (lengthIsChecked(format))
      return openImage(path)->byteCount() == byteCount;
    if (format == "jpg" || format == "jpeg")
      return jpegEnds(path);
    if (format == "bmp")
      return bitmapIsWhole(path);
    return readsBackEqual(path, voxels, byteCount);
  } catch (const std::exception&) {
    return false;
  }
}

}
