#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// Deflate streams (RFC 1951) whose blocks know nothing of each other: each ends at a byte and refers to no byte before it (zlib's
// full flush), so that threads can compress them, and read them again, in any order. To other readers they are one stream.

/// Bytes of a block before it is compressed. 32 KiB of history that each block lacks make files 0.2 to 0.5 % longer.
inline constexpr std::size_t deflateBlockBytes = std::size_t(256) << 10;

/// gzip has CRC-32 at its end, zlib Adler-32.
enum class StreamChecksum { crc32, adler32 };

struct DeflatedBlock {
  std::vector<unsigned char> bytes;
  std::uint32_t checksum = 0; // of the block before it was compressed
};

/// `level` is zlib's, 1 to 9. The last block of a stream ends it. Throws std::bad_alloc.
DeflatedBlock deflateBlock(std::span<const std::byte> block, int level, bool isLast, StreamChecksum);

/// Inflates one block of a stream made of them. False unless it fills `block`.
bool inflateBlock(std::span<const unsigned char> deflated, std::span<std::byte> block);

std::uint32_t checksumOf(std::span<const std::byte> bytes, StreamChecksum);
/// Of no bytes at all.
std::uint32_t firstChecksum(StreamChecksum);
/// Of two pieces one after the other.
std::uint32_t joinedChecksum(std::uint32_t first, std::uint32_t second, std::size_t secondBytes, StreamChecksum);

/// The lengths of a gzip file's blocks, kept in an extra field of its header (RFC 1952, 2.3.1.1) that other readers skip.
struct GzipIndex {
  std::size_t blockBytes = 0;                 // before compression; of all blocks but the last
  std::vector<std::uint32_t> deflatedBytes{}; // of each block
  std::size_t headerBytes = 0;                // of the gzip header, where the first block begins
};

/// The length of blocks that a stream of `byteCount` bytes is cut into: deflateBlockBytes, more only where the lengths of so many
/// blocks would not fit in a gzip header.
std::size_t gzipBlockBytes(std::uint64_t byteCount);

/// A gzip header with this index, of the same length whatever the lengths are.
std::string gzipHeader(const GzipIndex&);

/// The index at the beginning of a file; blockBytes is 0 if it has none that makes sense.
GzipIndex gzipIndex(const std::string& path);

}
