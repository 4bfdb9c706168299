#pragma once

#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <array>

namespace tessera {

/// Reads voxels of a file to a CUDA device. The values are copied in the type of the file, piece by piece
/// through pinned memory, and the device converts them to floats. While one piece is copied the next one is
/// read; the host's memory holds only these pieces.
template <int D>
class VoxelsToCuda {
public:
  /// The largest number of bytes of device memory for pieces.
  static double deviceBytes(const ImageHeader&);
  /// The context and the reader must outlive this.
  VoxelsToCuda(const Context&, SliceReader<D>&);

  /// Enqueues reading voxels [first, end) of each image to images[i] on the device, with 0 for values that
  /// are not finite. Images that are null, and all images if `images` is empty, are only checked. Unless
  /// null, finite[voxel] becomes 1 where the values of all images are finite, else 0, and `counts` on the
  /// device is increased by the numbers of such voxels. Throws Error(unreadableInput).
  void read(std::size_t first, std::size_t end, std::span<float* const> images, std::uint8_t* finite,
            VoxelCounts* counts);

  /// The same for all voxels of a file that has its components one after the other, which is read only once.
  void readComponents(std::span<float* const> images, std::uint8_t* finite, VoxelCounts* counts);

private:
  template <class Read, class Convert>
  void inPieces(std::size_t bytesAVoxel, std::size_t first, std::size_t end, Read&&, Convert&&);

  const Context& context_;
  SliceReader<D>& reader_;
  std::size_t bytesAtOnce_;
  PiecesToDevice pieces_;
  std::array<Buffer<std::byte>, PiecesToDevice::pieces> stored_;
  int turn_ = 0;
};

/// The images of a file whose voxels are only on a CUDA device. voxelsOnCuda finds them as long as this or
/// another object holds them.
template <int D>
struct ImagesOnCuda {
  std::vector<ImagePointer<D>> images;
  MaskPointer<D> valid; // voxels with finite components; null: all voxels
  std::vector<std::shared_ptr<const Buffer<float>>> voxels;
  std::shared_ptr<const Buffer<std::uint8_t>> validVoxels;
};

/// Reads a whole file to a CUDA device.
template <int D>
class ImageToCuda {
public:
  /// Allocates device memory: 4 bytes a voxel and image, and one more if values may not be finite. `geometry`
  /// is the grid that the images get. The context and the reader must outlive this. Throws
  /// Error(outOfMemory).
  ImageToCuda(const Context&, SliceReader<D>&, const ImageGeometry<D>& geometry);

  /// Reads the file and passes the counts of its voxels to the reader. Empty if the labels have to be
  /// numbered, which the host does. Throws Error(unreadableInput).
  std::optional<ImagesOnCuda<D>> run();

private:
  const Context& context_;
  SliceReader<D>& reader_;
  ImageGeometry<D> geometry_;
  std::vector<Buffer<float>> voxels_;
  Buffer<std::uint8_t> finite_; // empty if all values are
};

}
