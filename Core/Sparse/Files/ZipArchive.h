#pragma once

#include "Core/Sparse/Array.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tessera {

/// The members of a mapped zip file, as numpy writes it: stored or deflated, also with 64-bit sizes.
/// (PKWARE: APPNOTE.TXT, .ZIP File Format Specification, 6.3.)
class ZipReader {
public:
  /// Throws Error(unreadableInput) if it is no zip file or cut off.
  explicit ZipReader(const std::string& path);

  bool has(const std::string& name) const { return members_.count(name) > 0; }
  /// The bytes of a member, checked against its CRC-32. Throws Error(unreadableInput).
  Array<char> read(const std::string& name) const;
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const;

private:
  struct Member {
    std::uint64_t start = 0, compressed = 0, bytes = 0; // of its local header; lengths
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

/// Writes stored members one after the other and their directory at the end.
class ZipWriter {
public:
  explicit ZipWriter(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

  /// A member of two parts, so that a head need not be copied before its data.
  void add(const std::string& name, std::string_view head, std::string_view data);
  void finish();

private:
  void put(const std::string& bytes);

  std::function<void(std::string_view)> sink_;
  std::string directory_;
  std::uint64_t written_ = 0, members_ = 0;
};

}
