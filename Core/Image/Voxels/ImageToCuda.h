#pragma once

#include "Core/Compute/HostCopies.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <array>

namespace tessera {

/// Voxels of a file on their way to a CUDA device: as the file holds them through pieces of pinned memory,
/// and made floats there. While one piece is under way the next one is read. The host's memory holds no more
/// of them than these pieces.
template <int D>
class VoxelsToCuda {
public:
  /// The most that one takes of the device for pieces.
  static double deviceBytes(const ImageHeader&);
  /// Both must outlive this.
  VoxelsToCuda(const Context&, SliceReader<D>&);

  /// Voxels [first, end) of each image to where `images` begin, 0 for what is not finite; those of null, and
  /// all if there are no `images`, are only looked at. `finite` (null: not asked for) becomes 1 where all
  /// images have numbers, else 0; `counts` (null: not asked for), on the device, grows by what there is. The
  /// context's stream has them; the call does not wait for it. Throws Error(unreadableInput).
  void bring(std::size_t first, std::size_t end, std::span<float* const> images, std::uint8_t* finite,
             VoxelCounts* counts);

  /// The same of all voxels of a file that is read component by component, one after the other: goes through
  /// it once.
  void bringComponents(std::span<float* const> images, std::uint8_t* finite, VoxelCounts* counts);

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

/// The images of a file with voxels on a CUDA device alone; voxelsOnCuda gives them as long as they are held
/// here or elsewhere.
template <int D>
struct ImagesOnCuda {
  std::vector<ImagePointer<D>> images;
  MaskPointer<D> valid; // where all are numbers; null: everywhere
  std::vector<std::shared_ptr<const Buffer<float>>> voxels;
  std::shared_ptr<const Buffer<std::uint8_t>> validVoxels;
};

/// One upload of a whole file.
template <int D>
class ImageToCuda {
public:
  /// Takes the device's memory: 4 bytes a voxel and image, and one more if values may be no numbers.
  /// `geometry` is as what the images are to lie in space. Both references must outlive this. Throws
  /// Error(outOfMemory).
  ImageToCuda(const Context&, SliceReader<D>&, const ImageGeometry<D>& geometry);

  /// Reads the file, and tells the reader what it found. Nothing if the reader must number its labels: they
  /// are then to be read from it, on the host. Throws Error(unreadableInput).
  std::optional<ImagesOnCuda<D>> run();

private:
  const Context& context_;
  SliceReader<D>& reader_;
  ImageGeometry<D> geometry_;
  std::vector<Buffer<float>> voxels_;
  Buffer<std::uint8_t> finite_; // empty if all are
};

}
