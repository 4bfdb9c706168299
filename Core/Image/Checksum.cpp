#include "Core/Image/Checksum.h"

#include <cmath>

#include <zlib.h>

namespace tessera {

std::uint32_t resultChecksum(std::span<const double> parameters)
{
  uLong checksum = crc32(0, Z_NULL, 0);
  for (const double parameter : parameters) {
    const double rounded = std::floor(parameter * 1e6 + 0.5); // never -0
    checksum = crc32(checksum, reinterpret_cast<const Bytef*>(&rounded), sizeof rounded);
  }
  return static_cast<std::uint32_t>(checksum);
}

}
