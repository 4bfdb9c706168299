#pragma once

#include "Core/Image/Files/InputFile.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

/// A number of so many bytes; those beyond the end are 0.
inline std::uint64_t numberAt(std::string_view bytes, std::uint64_t position, std::size_t byteCount,
                              bool largestFirst)
{
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < byteCount; ++i)
    if (position + i < bytes.size())
      value |= std::uint64_t(static_cast<unsigned char>(bytes[position + i]))
               << 8 * (largestFirst ? byteCount - 1 - i : i);
  return value;
}

/// Reads numbers at any position of a file; beyond its end they are 0.
class FileNumbers {
public:
  explicit FileNumbers(const std::string& path) : file_(path), bytes_(file_.size()) {}

  const InputFile& file() const { return file_; }
  std::uint64_t fileBytes() const { return bytes_; }

  std::uint64_t at(std::uint64_t position, std::size_t byteCount, bool largestFirst)
  {
    if (position > bytes_ || bytes_ - position < byteCount)
      return 0;
    if (position < start_ || position + byteCount > start_ + window_.size()) {
      start_ = position;
      window_ = file_.text(position, longestWindow);
    }
    return numberAt(window_, position - start_, byteCount, largestFirst);
  }

private:
  static constexpr std::size_t longestWindow = 4096;

  InputFile file_;
  std::uint64_t bytes_, start_ = 0;
  std::string window_; // the bytes of the file from start_ on
};

}
