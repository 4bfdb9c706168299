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

/// A gzip header with blockBytes in an extra field (RFC 1952, 2.3.1.1), which other readers skip. Behind it
/// come deflatedBytes if there are some: older files have all lengths there, newer ones a blockMark() before
/// each block, because a header that waits for the last block keeps the file from being hashed meanwhile.
std::string gzipHeader(const BlockIndex&);

/// Tells the length of the block that follows in a deflate stream, by blocks that hold nothing: each stored
/// block (RFC 1951, 3.2.4) has five bits that every reader passes over.
std::string blockMark(std::uint32_t deflatedBytes);

/// The index of the gzip stream at `position`, with marks as parts of their blocks. blockBytes is 0 if there
/// is no valid index.
BlockIndex gzipIndex(const InputFile&, std::uint64_t position = 0);

/// The index that follows a zlib stream in a MetaImage. The header says where the stream ends, and other
/// readers stop there.
std::string zlibIndexText(const BlockIndex&);

/// The index behind the zlib stream of `streamBytes` bytes at `position`. blockBytes is 0 if there is no
/// valid index.
BlockIndex zlibIndex(const InputFile&, std::uint64_t position, std::uint64_t streamBytes);

}
