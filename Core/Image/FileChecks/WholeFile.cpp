#include "Core/Image/FileChecks/WholeFile.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageSource.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <vector>

namespace tessera {
namespace {

bool readsBackEqual(const std::string& path, const ImageHeader& header, const void* voxels)
{
  constexpr double fiveDigits = 1e-4; // which PNG keeps
  const std::unique_ptr<ImageSource> source = openImage(path, {});
  for (int axis = 0; axis < 2; ++axis) // TIFF keeps no more
    if (std::abs(source->header().spacingMm[axis] / header.spacingMm[axis] - 1) > fiveDigits)
      return false;
  std::vector<std::byte> bytes(source->byteCount());
  source->read(bytes.data(), 1);
  return bytes.size() == byteCountOf(header) && std::memcmp(bytes.data(), voxels, bytes.size()) == 0;
}

bool isOneOf(const std::string& format, std::initializer_list<const char*> formats)
{
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

}

bool isWholeImageFile(const std::string& path, const ImageHeader& header, const void* voxels)
{
  const std::string format = formatOf(path);
  try {
    // openImage throws if a file of one of these formats is cut off.
    if (isOneOf(format, {"mhd", "mha", "nii", "nii.gz", "hdr", "img"}))
      return openImage(path, {})->byteCount() == byteCountOf(header);
    if (isOneOf(format, {"jpg", "jpeg", "bmp"})) { // read with another number of components than written
      openImage(path, {});
      return true;
    }
    return readsBackEqual(path, header, voxels);
  } catch (const Error& error) {
    if (error.code() != ExitCode::unreadableInput)
      throw;
    return false;
  }
}

}
