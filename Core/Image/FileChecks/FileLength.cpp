#include "Core/Compute/LowerCase.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/FileChecks/FileNumbers.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

namespace tessera {
namespace {

/// Whether the gzip stream that begins at `start` is whole and holds at least `byteCount` bytes. Of one that
/// holds far more, only the beginning is inflated.
bool inflatesTo(const InputFile& file, std::uint64_t start, std::uint64_t byteCount)
{
  Inflater inflater(file, start);
  std::vector<std::byte> block(std::size_t(1) << 20);
  for (std::uint64_t left = byteCount, length = 0; left > 0; left -= length) {
    length = std::min<std::uint64_t>(block.size(), left);
    if (!inflater.fill(std::span(block).first(length)))
      return false;
  }
  return inflater.finish() != Inflater::Rest::damaged;
}

}

std::string bytesOfFile(const std::string& path, std::uint64_t position, std::size_t count)
{
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored))
    return ""; // opening a pipe would wait for its writer
  return InputFile(path).text(position, count);
}

PixelType typeOfValues(const VoxelPlace& place)
{
  return place.scaling.isScaled() && place.type != PixelType::float64 ? PixelType::float32 : place.type;
}

PixelMeaning meaningOf(int components, bool areColours)
{
  return components == 1                 ? PixelMeaning::scalar
         : components == 3 && areColours ? PixelMeaning::rgb
         : components == 4 && areColours ? PixelMeaning::rgba
                                         : PixelMeaning::vector;
}

bool hasEnding(const std::string& path, const std::string& lowerCaseEnding)
{
  const auto equal = [](char letter, char small) { return lowerLetter(letter) == small; };
  return path.size() >= lowerCaseEnding.size()
         && std::equal(path.end() - lowerCaseEnding.size(), path.end(), lowerCaseEnding.begin(), equal);
}

std::uint64_t bytesTimes(std::uint64_t bytes, std::uint64_t count)
{
  constexpr std::uint64_t largest = std::uint64_t(1) << 62;
  std::uint64_t product = 0;
  return __builtin_mul_overflow(bytes, count, &product) || product > largest ? largest : product;
}

bool holdsBytes(const InputFile& file, std::uint64_t byteCount, std::uint64_t start)
{
  if (file.text(start, 2) != "\x1f\x8b")
    return file.size() >= start + byteCount;
  // The length at the end is that of the last member, modulo 2^32 (RFC 1952).
  const std::string last = file.text(std::max<std::uint64_t>(file.size(), 4) - 4, 4);
  return numberAt(last, 0, 4, false) == static_cast<std::uint32_t>(byteCount)
         || inflatesTo(file, start, byteCount);
}

}
