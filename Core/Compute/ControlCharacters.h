#pragma once

#include <cstddef>
#include <string_view>

namespace tessera {

/// The bytes of the character at `i` in UTF-8 if a terminal or a page acts on it and shows nothing: controls
/// of ASCII (tabs and line breaks, too), U+0080 to U+009F, separators of lines and paragraphs, and marks of
/// direction, which let a name look like another (U+2028 to U+202E, U+2066 to U+2069). 0 for all others.
inline std::size_t controlLength(std::string_view text, std::size_t i)
{
  const auto byte = [&](std::size_t k) {
    return static_cast<unsigned char>(i + k < text.size() ? text[i + k] : 0);
  };
  const auto isWithin = [&](std::size_t k, unsigned char first, unsigned char last) {
    return byte(k) >= first && byte(k) <= last;
  };
  if (byte(0) < 32 || byte(0) == 127)
    return 1;
  if (byte(0) == 0xc2 && isWithin(1, 0x80, 0x9f))
    return 2;
  const bool isHidden =
      byte(0) == 0xe2
      && ((byte(1) == 0x80 && isWithin(2, 0xa8, 0xae)) || (byte(1) == 0x81 && isWithin(2, 0xa6, 0xa9)));
  return isHidden ? 3 : 0;
}

}
