#pragma once

#include "Core/Image/Compression/BlockDeflate.h"
#include "Core/Image/Compression/BlockIndex.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// How bytes lie in a file.
enum class FileEncoding { plain, gzip, zlib };

/// A file that is written from its beginning to its end, in pieces of any length, compressed on several
/// threads if it is compressed. Its bytes depend neither on the pieces nor on the number of threads. What
/// cannot be written throws std::system_error.
class EncodedFile {
public:
  struct Settings {
    FileEncoding encoding = FileEncoding::plain;
    int level = 6;               // zlib's, of the compressed ones
    std::uint64_t byteCount = 0; // that will be written, before compression
    int threads = 1;
  };

  /// `head` stands before everything else, as it is.
  EncodedFile(const std::string& path, const std::string& head, const Settings&);
  ~EncodedFile();
  EncodedFile(const EncodedFile&) = delete;
  EncodedFile& operator=(const EncodedFile&) = delete;

  void write(std::span<const std::byte> bytes);

  /// To be called after the last byte. Returns how many bytes follow the head; the index of a zlib stream,
  /// behind it, does not count.
  std::uint64_t finish();

  /// Replaces bytes that were written.
  void rewrite(std::uint64_t position, const std::string& bytes);

  /// Some file systems tell only now that they could not write.
  void close();

private:
  using Blocks = std::vector<std::span<const std::byte>>;
  void writeBlocks(const Blocks&);
  void checkGiven(bool holds) const;
  void put(std::span<const unsigned char> bytes);

  Settings settings_;
  std::size_t blockBytes_;
  StreamChecksum checksumKind_;
  int file_ = -1;
  std::uint64_t headBytes_, given_ = 0, put_ = 0;
  std::vector<std::byte> pending_; // the beginning of the next block
  std::uint32_t checksum_;
  BlockIndex index_;
  std::size_t blocksDone_ = 0;
};

}
