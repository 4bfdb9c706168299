#pragma once

#include "Core/Image/Compression/BlockDeflate.h"
#include "Core/Image/Compression/BlockIndex.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The encoding of the voxels in a file.
enum class FileEncoding { plain, gzip, zlib };

/// A file that is written front to back in pieces of any length. Several threads compress it if it is
/// compressed. Its bytes depend neither on the pieces nor on the number of threads. Throws std::system_error
/// if it cannot be written.
class EncodedFile {
public:
  struct Settings {
    FileEncoding encoding = FileEncoding::plain;
    std::uint64_t byteCount = 0; // to be written, before compression
    int threads = 1;
  };

  /// `head` is written first, without compression.
  EncodedFile(const std::string& path, const std::string& head, const Settings&);
  ~EncodedFile();
  EncodedFile(const EncodedFile&) = delete;
  EncodedFile& operator=(const EncodedFile&) = delete;

  void write(std::span<const std::byte> bytes);

  /// Must be called after the last byte. Returns the number of bytes after the head, without the index that
  /// follows a zlib stream.
  std::uint64_t finish();

  /// Overwrites bytes that were written before.
  void rewrite(std::uint64_t position, const std::string& bytes);

  /// Some file systems report only here that they could not write.
  void close();

private:
  using Blocks = std::vector<std::span<const std::byte>>;
  void writeBlocks(const Blocks&);
  void checkGiven(bool holds) const;
  void put(std::span<const unsigned char> bytes);
  void putText(const std::string& text)
  {
    put({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  }

  Settings settings_;
  StreamChecksum checksumKind_;
  int file_ = -1;
  std::uint64_t headBytes_, given_ = 0, put_ = 0;
  std::vector<std::byte> pending_; // the beginning of the next block
  std::uint32_t checksum_;
  BlockIndex index_{deflateBlockBytes};
};

}
