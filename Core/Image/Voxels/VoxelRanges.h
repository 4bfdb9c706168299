#pragma once

#include "Core/Image/Voxels/VoxelPlace.h"

#include <memory>

namespace tessera {

/// The voxels of a file, of which any range may be read, in any order. What a range takes of memory does not
/// grow with the file.
class VoxelRanges {
public:
  virtual ~VoxelRanges() = default;

  /// Bytes [firstByte, firstByte + byteCount) in the order of the file, a whole number of values; to
  /// `consumer` as readVoxels gives them. Throws Error(unreadableInput) if the file is shorter than it should
  /// be or damaged.
  virtual void read(std::uint64_t firstByte, std::uint64_t byteCount, int threads,
                    const VoxelConsumer& consumer) = 0;

  /// The same to where they lie one after the other.
  virtual void read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads);

  /// After the last range: throws Error(unreadableInput) if a compressed file is damaged elsewhere.
  virtual void finish(int threads) = 0;
};

/// Bytes that one takes of memory while nothing is read, at most: what is read from, and what inflates a
/// stream of others.
inline constexpr double voxelRangesBytes = 128e3;

/// Of uncompressed files, and compressed ones of our own writing, ranges are read where they lie. Other
/// compressed files are inflated front to back, and from their beginning again for a range before the last
/// one. Throws Error(unreadableInput), naming `name`, if the file cannot be opened.
std::unique_ptr<VoxelRanges> openVoxels(const VoxelPlace&, const std::string& name);

}
