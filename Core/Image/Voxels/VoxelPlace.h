#pragma once

#include "Core/Image/Files/EncodedFile.h"
#include "Core/Image/Files/InputFile.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Image/Voxels/ValueScaling.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tessera {

/// The place and the order of the voxels in a file, x fastest.
struct VoxelPlace {
  std::string path;                      // path of the file with the voxels
  std::shared_ptr<const InputFile> file; // that file if it is open, else null
  FileEncoding encoding = FileEncoding::plain;
  std::uint64_t offset = 0; // place of the first voxel in the file, or in the inflated stream
  std::uint64_t byteCount = 0;
  PixelType type = PixelType::float32;
  bool swapped = false;        // the byte order differs from this machine's
  std::uint64_t streamAt = 0;  // position of a compressed stream in the file
  std::uint64_t zlibBytes = 0; // length of a zlib stream; 0: not known
  int components = 1;
  bool apart = false; // all voxels of a component before those of the next, as in NIfTI; else interleaved
  bool towardsRas = false; // displacements point right, front and up, where LPS has left, back and up
  ValueScaling scaling;    // scaling of scalars; the functions below return the numbers of the file
};

/// Receives a whole number of values from `firstByte` on, in this machine's byte order. Is called in any
/// order and by several threads at the same time.
using VoxelConsumer = std::function<void(std::uint64_t firstByte, std::span<const std::byte> bytes)>;

/// Passes every voxel to `consumer` once. Several threads inflate compressed files that Tessera has written,
/// one thread inflates others. Throws Error(unreadableInput) with `name` if the file is too short or damaged.
void readVoxels(const VoxelPlace&, const std::string& name, int threads, const VoxelConsumer& consumer);

/// Reads all voxels into memory, components interleaved.
void readVoxels(const VoxelPlace&, const std::string& name, int threads, std::byte* voxels);

}
