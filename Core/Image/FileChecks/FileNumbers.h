#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace tessera {

/// Reads numbers at any position of a file; beyond its end they are 0.
class FileNumbers {
public:
  explicit FileNumbers(const std::string& path)
  {
    stream_.rdbuf()->pubsetbuf(nullptr, 0); // without a buffer: the numbers lie far from each other
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
    std::array<unsigned char, 8> bytes{};
    stream_.seekg(static_cast<std::streamoff>(position));
    stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(byteCount));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < byteCount; ++i)
      value |= static_cast<std::uint64_t>(bytes[i]) << 8 * (largestFirst ? byteCount - 1 - i : i);
    return value;
  }

private:
  std::ifstream stream_;
  std::uint64_t bytes_ = 0;
};

}
