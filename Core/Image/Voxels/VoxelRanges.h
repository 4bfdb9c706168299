#pragma once

#include "Core/Image/Compression/BlockDeflate.h"
#include "Core/Image/Compression/BlockIndex.h"
#include "Core/Image/Compression/Inflater.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <optional>

namespace tessera {

/// Reads ranges of the voxels of a file in any order. The memory it needs does not grow with the file. Ranges
/// of uncompressed files, and of compressed ones that Tessera has written, are read directly. Other
/// compressed files are inflated front to back, and again from their beginning for a range before the last
/// one.
class VoxelRanges {
public:
  /// Throws Error(unreadableInput) with `name` if the file cannot be opened.
  VoxelRanges(const VoxelPlace&, const std::string& name);

  /// Passes bytes [firstByte, firstByte + byteCount) of the voxels, a whole number of values, to `consumer`
  /// as readVoxels does. Throws Error(unreadableInput) if the file is too short or damaged.
  void read(std::uint64_t firstByte, std::uint64_t byteCount, int threads, const VoxelConsumer& consumer);

  /// Reads these bytes into memory, in the order of the file.
  void read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads);

  /// Must be called after the last range. Throws Error(unreadableInput) if a compressed file is damaged in a
  /// part that was not read.
  void finish(int threads);

private:
  void readPieces(std::uint64_t firstByte, std::uint64_t byteCount, int threads, std::byte* to,
                  const VoxelConsumer&);
  void readPlain(std::uint64_t firstByte, std::span<std::byte> out) const;
  void findBlocks();
  void inflateBlock(std::size_t block, std::span<std::byte> out);
  std::size_t blockLength(std::size_t block) const
  {
    return std::min<std::uint64_t>(index_.blockBytes, streamBytes() - block * index_.blockBytes);
  }
  std::uint32_t storedChecksum() const;
  void inflate(std::span<std::byte> bytes)
  {
    if (!inflater_->fill(bytes))
      failDamaged();
    at_ += bytes.size();
  }
  void inflateAway(std::uint64_t count);
  void skipTo(std::uint64_t firstByte);
  [[noreturn]] void failDamaged() const;

  bool isGzip() const { return place_.encoding == FileEncoding::gzip; }
  StreamChecksum checksumKind() const { return isGzip() ? StreamChecksum::crc32 : StreamChecksum::adler32; }
  std::uint64_t streamBytes() const { return place_.offset + place_.byteCount; }

  VoxelPlace place_;
  std::string name_;

  // A compressed stream with an index: several threads inflate only the blocks that are needed.
  BlockIndex index_;
  std::vector<std::uint64_t> starts_; // of the blocks, and the end of the last one; empty: there is no index
  std::vector<std::uint32_t> checksums_; // one for each block that was inflated
  std::vector<std::uint8_t> isKnown_;

  // A compressed stream without an index: one thread has to inflate everything before a byte.
  std::optional<Inflater> inflater_;
  std::uint64_t at_ = 0; // position of the inflater in the voxels
};

/// The largest number of bytes that one object holds between two reads: the input buffer and the state of
/// zlib.
inline constexpr double voxelRangesBytes = 128e3;

}
