#pragma once

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/Voxels/PixelType.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// Words and numbers of image files that are text.

/// Returns what stands behind `before` up to one of the letters of `ends`; empty if `before` is not there.
inline std::string textBehind(std::string_view text, const std::string& before, const char* ends)
{
  const std::size_t at = text.find(before), start = at + before.size();
  return at == std::string::npos ? ""
                                 : std::string(text.substr(start, text.find_first_of(ends, start) - start));
}

/// A whole number without anything before or behind it.
inline std::optional<std::int64_t> wholeNumber(const std::string& text)
{
  return numberIn<std::int64_t>(text);
}

/// A decimal number that is finite, without anything before or behind it.
inline std::optional<double> finiteNumber(const std::string& text)
{
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool isDecimal = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  return !text.empty() && *end == '\0' && isDecimal && std::isfinite(value) ? std::optional(value)
                                                                            : std::nullopt;
}

/// Numbers of voxels that are text, in a file from byte `from` on.
struct TextVoxels {
  std::string path; // of the file that holds them
  std::uint64_t from = 0, enough = 0;
  PixelType type = PixelType::float32;
  bool takesDecimals = false; // of whole numbers, such as 3.0, for voxels of whole numbers
};

/// How many numbers there are, up to `enough`. Throws Error(unreadableInput) for `image` at the first one
/// that a voxel cannot hold: the libraries make another number of it, or zeros of all behind it.
std::uint64_t countTextNumbers(const std::string& image, const TextVoxels&);

}
