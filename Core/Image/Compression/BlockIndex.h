#pragma once

#include "Core/Image/Files/InputFile.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// The positions of the blocks of a compressed stream (BlockDeflate.h) in their file, by which several
/// threads can inflate them.
struct BlockIndex {
  std::size_t blockBytes = 0;                 // length before compression of every block but the last
  std::vector<std::uint32_t> deflatedBytes{}; // compressed bytes of each block
  std::uint64_t firstBlock = 0;               // position of the first block in the file
};

/// The length of the blocks of a gzip stream of `byteCount` bytes: deflateBlockBytes, or more if the lengths
/// of so many blocks would not fit into a gzip header.
std::size_t gzipBlockBytes(std::uint64_t byteCount);

/// A gzip header with the index in an extra field (RFC 1952, 2.3.1.1), which other readers skip. Its length
/// depends only on the number of blocks.
std::string gzipHeader(const BlockIndex&);

/// The index of the gzip stream at `position`. blockBytes is 0 if there is no valid index.
BlockIndex gzipIndex(const InputFile&, std::uint64_t position = 0);

/// The index that follows a zlib stream in a MetaImage. The header says where the stream ends, and other
/// readers stop there.
std::string zlibIndexText(const BlockIndex&);

/// The index behind the zlib stream of `streamBytes` bytes at `position`. blockBytes is 0 if there is no
/// valid index.
BlockIndex zlibIndex(const InputFile&, std::uint64_t position, std::uint64_t streamBytes);

}
