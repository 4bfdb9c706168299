#pragma once

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/EncodedFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Files/OutputDigests.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tessera {

/// An image file that is written piece by piece and gets its name when it is complete. For formats that are a
/// header followed by the voxels: mha, mhd, nii, nii.gz and nrrd. Several threads compress; the bytes do not
/// depend on their number.
class ImageStream {
public:
  /// Whether an image with this header can be written piece by piece.
  static bool writes(const std::string& format, const ImageHeader&);

  /// Whether the file has the components of a voxel side by side. NIfTI has all voxels of one component
  /// before those of the next.
  static bool interleaves(const std::string& format, const ImageHeader&);

  /// Changes bytes of the header of a NIfTI file, not their number.
  using ChangeHead = std::function<void(std::string& head)>;

  /// `compress` has no effect on nii and nii.gz. `digests`, if not null, follows the file while it is
  /// written, unless its header tells what is known last. Throws Error(unwritableOutput), as all members do.
  ImageStream(const std::string& path, const ImageHeader&, bool compress, int threads, const ChangeHead& = {},
              OutputDigests* digests = nullptr);

  bool compresses() const { return compresses_; }

  /// Writes the next bytes in the order of the file, in the header's component type.
  void write(std::span<const std::byte> bytes);

  /// Writes all voxels, components interleaved.
  void writeAll(const std::byte* voxels);

  /// Completes the file after the last byte.
  void commit();

private:
  template <class Action>
  void orFail(Action&&);
  void open(bool compress, int threads, const ChangeHead&);

  ImageHeader header_;
  AtomicFile file_;
  std::string format_, head_; // head_: kept if it is written last
  bool compresses_ = false;
  std::unique_ptr<EncodedFile> voxels_;
  std::promise<void> isWhole_; // for the thread that follows the file
};

/// Writes voxels (components interleaved, x fastest, in the header's component type) in the format of the
/// path's extension, completely or not at all. Throws Error(unwritableOutput), before anything is written if
/// the format cannot hold such voxels. `digests` as for an ImageStream.
void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads, OutputDigests* digests = nullptr);

}
