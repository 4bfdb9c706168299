#include "Core/Image/Checksum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <isa-l.h>

namespace tessera {

std::uint32_t resultChecksum(std::span<const double> parameters)
{
  std::uint32_t checksum = 0;
  std::vector<double> rounded;
  while (!parameters.empty()) {
    const std::size_t count = std::min<std::size_t>(parameters.size(), 4096);
    rounded.resize(count);
    std::ranges::transform(parameters.first(count), rounded.begin(), [](double parameter) {
      return std::floor(parameter * 1e6 + 0.5); // never -0
    });
    checksum = crc32_gzip_refl(checksum, reinterpret_cast<const unsigned char*>(rounded.data()),
                               count * sizeof(double));
    parameters = parameters.subspan(count);
  }
  return checksum;
}

}
