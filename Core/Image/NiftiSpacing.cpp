#include "Core/Image/NiftiSpacing.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include <zlib.h>

namespace tessera {
namespace {

constexpr std::size_t headerBytes = 348;
using HeaderBytes = std::array<unsigned char, headerBytes>;

/// False if the file is shorter than a header. Reads gzip and plain files alike.
bool readBytes(const std::string& path, HeaderBytes& bytes)
{
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  return file && gzread(file.get(), bytes.data(), headerBytes) == static_cast<int>(headerBytes);
}

template <class Unsigned>
Unsigned integerAt(const HeaderBytes& bytes, std::size_t offset, bool swapped)
{
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= static_cast<Unsigned>(static_cast<Unsigned>(bytes[offset + (swapped ? sizeof value - 1 - i : i)]) << (8 * i));
  return value;
}

}

void checkNiftiSpacing(const std::string& path)
{
  HeaderBytes bytes{};
  if (!readBytes(path, bytes))
    return;
  const bool bigEndian = integerAt<std::uint32_t>(bytes, 0, true) == headerBytes;
  const bool nifti = std::memcmp(&bytes[344], "n+1", 4) == 0 || std::memcmp(&bytes[344], "ni1", 4) == 0;
  if (!nifti || (!bigEndian && integerAt<std::uint32_t>(bytes, 0, false) != headerBytes))
    return;
  constexpr std::size_t dimOffset = 40, pixdimOffset = 76;
  const int axes = std::min<int>(3, integerAt<std::uint16_t>(bytes, dimOffset, bigEndian));
  for (int axis = 0; axis < axes; ++axis) {
    const int size = integerAt<std::uint16_t>(bytes, dimOffset + 2 * (axis + 1), bigEndian);
    const auto spacing = std::bit_cast<float>(integerAt<std::uint32_t>(bytes, pixdimOffset + 4 * (axis + 1), bigEndian));
    if (size > 1 && !(spacing > 0 && std::isfinite(spacing)))
      throw Error(ExitCode::unreadableInput, path + ": spacing " + std::to_string(spacing) + " on axis " + std::to_string(axis)
                                               + ": a voxel must have an extent. Allowed: spacings above zero; a flipped axis "
                                                 "belongs into the direction.");
  }
}

}
