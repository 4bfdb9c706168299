#pragma once

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/EncodedFile.h"
#include "Core/Image/Files/ImageHeader.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tessera {

/// An image file that is written piece by piece and appears whole or not at all. Of formats that are a header
/// and then the voxels: mha, mhd, nii, nii.gz and nrrd. Compressed ones are compressed on several threads, to
/// the same bytes for any number of them.
class ImageStream {
public:
  /// Whether images with this header can be written so.
  static bool writes(const std::string& format, const ImageHeader&);

  /// Whether write() takes the components of a voxel side by side. NIfTI keeps them apart, the whole image of
  /// one after that of another.
  static bool interleaves(const std::string& format, const ImageHeader&);

  /// `compress` is not asked where the format's name decides (nii, nii.gz). Throws Error(unwritableOutput),
  /// as all members do.
  ImageStream(const std::string& path, const ImageHeader&, bool compress, int threads);

  bool compresses() const { return compresses_; }

  /// The next bytes in the order of the file, in the header's component type.
  void write(std::span<const std::byte> bytes);

  /// All voxels, components interleaved.
  void writeAll(const std::byte* voxels);

  /// After the last byte.
  void commit();

private:
  template <class Action>
  void orFail(Action&&);
  void open(bool compress, int threads);

  ImageHeader header_;
  AtomicFile file_;
  std::string format_, head_; // the head is kept where it can be written only at the end
  bool compresses_ = false;
  std::unique_ptr<EncodedFile> voxels_;
};

}
