#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// Writes a colour picture: 8 bits for red, green and blue of each pixel, x fastest. Throws
/// Error(unwritableOutput).
void writePng(const std::string& path, const std::vector<std::array<std::uint8_t, 3>>& pixels,
              std::size_t width);

}
