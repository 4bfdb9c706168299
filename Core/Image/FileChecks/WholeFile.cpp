#include "Core/Image/FileChecks/WholeFile.h"

#include "Core/Image/Files/ImageSource.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace tessera {
namespace {

bool readsBackEqual(const std::string& path, const void* voxels, std::size_t byteCount)
{
  const std::unique_ptr<ImageSource> source = openImage(path, {});
  std::vector<std::byte> bytes(source->byteCount());
  source->read(bytes.data(), 1);
  return bytes.size() == byteCount && std::memcmp(bytes.data(), voxels, byteCount) == 0;
}

bool isOneOf(const std::string& format, std::initializer_list<const char*> formats)
{
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}

bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels,
                      std::size_t byteCount)
{
  try {
    // openImage throws if a file of one of these formats is cut off.
    if (isOneOf(format, {"mhd", "mha", "nii", "nii.gz", "hdr", "img"}))
      return openImage(path, {})->byteCount() == byteCount;
    if (isOneOf(format, {"jpg", "jpeg", "bmp"})) { // read with another number of components than written
      openImage(path, {});
      return true;
    }
    return readsBackEqual(path, voxels, byteCount);
  } catch (const std::exception&) {
    return false;
  }
}

}
