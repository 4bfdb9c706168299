#pragma once

#include "Core/Sparse/Array.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

/// Reads members of a mapped zip file as numpy writes it: stored or deflated, also with 64-bit sizes. Source:
/// PKWARE: APPNOTE.TXT, .ZIP File Format Specification, version 6.3.
class ZipReader {
public:
  /// Throws Error(unreadableInput) if the file is no zip file or cut off.
  explicit ZipReader(const std::string& path) : path_(path), block_(std::make_shared<MemoryBlock>(path))
  {
    readDirectory();
  }

  bool has(const std::string& name) const { return members_.count(name) > 0; }
  /// The length of a member, inflated, as the directory tells it.
  std::uint64_t bytesOf(const std::string& name) const { return members_.at(name).bytes; }
  /// The inflated bytes of a member. Throws Error(unreadableInput) if there are more of them than `most`, the
  /// CRC-32 is another or the member is cut off.
  Array<char> read(const std::string& name, double most) const;
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const;

private:
  struct Member {
    std::uint64_t start = 0, compressed = 0, bytes = 0; // position of its local header; lengths in bytes
    std::uint32_t crc = 0, method = 0;
  };
  std::string_view text() const { return {reinterpret_cast<const char*>(block_->data()), block_->bytes()}; }
  std::uint64_t number(std::uint64_t at, int bytes) const;
  void readDirectory();
  Member memberAt(std::uint64_t at) const;

  std::string path_;
  std::shared_ptr<MemoryBlock> block_;
  std::map<std::string, Member> members_;
};

/// Writes a zip file: stored members one after the other, then their directory.
class ZipWriter {
public:
  explicit ZipWriter(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

  /// Adds a member whose bytes are `head` and `data`, given apart so that large data need no copy.
  void add(const std::string& name, std::string_view head, std::string_view data);
  void finish();

private:
  void put(const std::string& bytes)
  {
    sink_(bytes);
    written_ += bytes.size();
  }

  std::function<void(std::string_view)> sink_;
  std::string directory_;
  std::uint64_t written_ = 0, members_ = 0;
};

}
