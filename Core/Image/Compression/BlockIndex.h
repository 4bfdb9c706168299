#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// Where the blocks of a compressed stream (BlockDeflate.h) lie in their file, so that threads can inflate
/// them.
struct BlockIndex {
  std::size_t blockBytes = 0;                 // before compression; of all blocks but the last
  std::vector<std::uint32_t> deflatedBytes{}; // of each block
  std::uint64_t firstBlock = 0;               // position in the file
};

/// The length of blocks that a gzip stream of `byteCount` bytes is cut into: deflateBlockBytes, more only
/// where the lengths of so many blocks would not fit in a gzip header.
std::size_t gzipBlockBytes(std::uint64_t byteCount);

/// A gzip header that holds the index in an extra field (RFC 1952, 2.3.1.1), which other readers skip. Of the
/// same length whatever the lengths are.
std::string gzipHeader(const BlockIndex&);

/// The index of the gzip stream that begins at `position`; blockBytes is 0 if it has none that makes sense.
BlockIndex gzipIndex(const std::string& path, std::uint64_t position = 0);

/// What stands behind a zlib stream in a MetaImage, whose header says where the stream ends: other readers
/// never come to it.
std::string zlibIndexText(const BlockIndex&);

/// The index behind the stream of `streamBytes` bytes that begins at `position`; blockBytes is 0 if there is
/// none that makes sense.
BlockIndex zlibIndex(const std::string& path, std::uint64_t position, std::uint64_t streamBytes);

}
