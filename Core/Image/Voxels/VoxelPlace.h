#pragma once

#include "Core/Image/Files/EncodedFile.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Image/Voxels/ValueScaling.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace tessera {

/// Where and how the voxels of a file lie, x fastest.
struct VoxelPlace {
  std::string path; // of the file that holds them
  FileEncoding encoding = FileEncoding::plain;
  std::uint64_t offset = 0; // of their first byte in the file, or in what a compressed stream holds
  std::uint64_t byteCount = 0;
  PixelType type = PixelType::float32;
  bool swapped = false;        // bytes of a number in the other order than this machine's
  std::uint64_t streamAt = 0;  // where a compressed stream begins in the file
  std::uint64_t zlibBytes = 0; // of a zlib stream; 0: not known
  int components =
      1; // if `apart`, all of one before all of the next, as in NIfTI; otherwise those of a voxel together
  bool apart = false;
  bool towardsRas =
      false; // displacements to the right, to the front and up, where ours go to the left, to the back and up
  ValueScaling scaling; // of one component; readers here give the numbers of the file
};

/// Nothing if the file is of another kind, or of a kind that only its library reads: several volumes, pairs
/// of files, texts, scaled vectors.
std::optional<VoxelPlace> niftiVoxels(const std::string& path);
std::optional<VoxelPlace> metaImageVoxels(const std::string& path);
std::optional<VoxelPlace> nrrdVoxels(const std::string& path);

/// Receives voxels from `firstByte` on, a whole number of them, in this machine's byte order. Called in any
/// order, and by several threads at once.
using VoxelConsumer = std::function<void(std::uint64_t firstByte, std::span<const std::byte> bytes)>;

/// Gives every voxel to `consumer` once, in the order of the file. Compressed files of our own writing are
/// inflated on several threads, others on one. Throws Error(unreadableInput), naming `name`, if the file is
/// shorter than it should be or damaged.
void readVoxels(const VoxelPlace&, const std::string& name, int threads, const VoxelConsumer& consumer);

/// The same into memory, components interleaved.
void readVoxels(const VoxelPlace&, const std::string& name, int threads, std::byte* voxels);

}
