#pragma once

#include "Core/Image/Files/InputFile.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

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
      window_.assign(std::min<std::uint64_t>(longestWindow, bytes_ - position), 0);
      file_.read(position, window_.data(), window_.size());
    }
    const unsigned char* const bytes = &window_[position - start_];
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < byteCount; ++i)
      value |= static_cast<std::uint64_t>(bytes[i]) << 8 * (largestFirst ? byteCount - 1 - i : i);
    return value;
  }

private:
  static constexpr std::uint64_t longestWindow = 4096;

  InputFile file_;
  std::uint64_t bytes_, start_ = 0;
  std::vector<unsigned char> window_; // the bytes of the file from start_ on
};

}
