#pragma once

#include "Core/Image/Voxels/VoxelPlace.h"

#include <memory>

namespace tessera {

/// Reads ranges of the voxels of a file in any order. The memory it needs does not grow with the file.
class VoxelRanges {
public:
  virtual ~VoxelRanges() = default;

  /// Passes bytes [firstByte, firstByte + byteCount) of the voxels, a whole number of values, to `consumer`
  /// as readVoxels does. Throws Error(unreadableInput) if the file is too short or damaged.
  virtual void read(std::uint64_t firstByte, std::uint64_t byteCount, int threads,
                    const VoxelConsumer& consumer) = 0;

  /// Reads these bytes into memory, in the order of the file.
  virtual void read(std::uint64_t firstByte, std::span<std::byte> bytes, int threads);

  /// Must be called after the last range. Throws Error(unreadableInput) if a compressed file is damaged in a
  /// part that was not read.
  virtual void finish(int threads) = 0;
};

/// The largest number of bytes that one object holds between two reads: the input buffer and the state of
/// zlib.
inline constexpr double voxelRangesBytes = 128e3;

/// Opens the voxels of a file. Ranges of uncompressed files, and of compressed ones that Tessera has written,
/// are read directly. Other compressed files are inflated front to back, and again from their beginning for a
/// range before the last one. Throws Error(unreadableInput) with `name` if the file cannot be opened.
std::unique_ptr<VoxelRanges> openVoxels(const VoxelPlace&, const std::string& name);

}
