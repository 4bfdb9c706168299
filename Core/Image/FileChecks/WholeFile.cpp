#include "Core/Image/FileChecks/WholeFile.h"

#include "Core/Image/Files/ImageSource.h"

#include <cstring>
#include <vector>

namespace tessera {
namespace {

bool readsBackEqual(const std::string& path, const void* voxels, std::size_t byteCount)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  std::vector<std::byte> bytes(source->byteCount());
  std::vector<std::string> notes;
  source->read(bytes.data(), 1, notes);
  return bytes.size() == byteCount && std::memcmp(bytes.data(), voxels, byteCount) == 0;
}

/// Whether openImage throws if a file of this format is cut off.
bool isCheckedByOpening(const std::string& format)
{
  for (const char* checked : {"mhd", "mha", "nii", "nii.gz", "hdr", "img", "jpg", "jpeg", "bmp"})
    if (format == checked)
      return true;
  return false;
}

}

bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels,
                      std::size_t byteCount)
{
  try {
    if (isCheckedByOpening(format))
      return openImage(path)->byteCount() == byteCount;
    return readsBackEqual(path, voxels, byteCount);
  } catch (const std::exception&) {
    return false;
  }
}

}
