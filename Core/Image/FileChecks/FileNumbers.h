#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace tessera {

/// Reads numbers at any position of a file; beyond its end they are 0.
class FileNumbers {
public:
  explicit FileNumbers(const std::string& path)
  {
    stream_.rdbuf()->pubsetbuf(nullptr, 0); // instead of its buffer, which a seek empties, window_ is kept
    stream_.open(path, std::ios::binary);
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    bytes_ = failure ? 0 : bytes;
  }

  std::uint64_t fileBytes() const { return bytes_; }

  std::uint64_t at(std::uint64_t position, std::size_t byteCount, bool largestFirst)
  {
    if (position > bytes_ || bytes_ - position < byteCount)
      return 0;
    if (position < start_ || position + byteCount > start_ + window_.size()) {
      start_ = position;
      window_.assign(std::min<std::uint64_t>(longestWindow, bytes_ - position), 0);
      stream_.seekg(static_cast<std::streamoff>(position));
      stream_.read(reinterpret_cast<char*>(window_.data()), static_cast<std::streamsize>(window_.size()));
    }
    const unsigned char* const bytes = &window_[position - start_];
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < byteCount; ++i)
      value |= static_cast<std::uint64_t>(bytes[i]) << 8 * (largestFirst ? byteCount - 1 - i : i);
    return value;
  }

private:
  static constexpr std::uint64_t longestWindow = 4096;

  std::ifstream stream_;
  std::uint64_t bytes_ = 0, start_ = 0;
  std::vector<unsigned char> window_; // the bytes of the file from start_ on
};

}
