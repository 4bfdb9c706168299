#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Slices/SliceReader.h"

#include <string>
#include <vector>

namespace tessera {

/// Reads the volumes of an image in D + 1 dimensions, the last of which is time, one at a time. In 2D a
/// volume is a picture. Files that cannot be read in slices (SliceReader) are read as a whole at the start.
template <int D>
class VolumeReader {
public:
  /// Throws Error(unreadableInput), also for other axes or several components a voxel.
  VolumeReader(const std::string& path, const ReadingOptions&, int threads);

  const ImageHeader& header() const { return reader_.header(); }
  const ImageGeometry<D>& geometry() const { return geometry_; } // of each volume
  std::size_t volumes() const { return header().size[D]; }
  /// Lines about header and voxels.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Compressed files of other programs are inflated again from their beginning for a volume before the last
  /// one. Voxels may be infinite or no numbers. Throws Error(unreadableInput), with the last volume also for
  /// a file that is damaged anywhere.
  ImagePointer<D> read(std::size_t volume, int threads);

private:
  SliceReader<D + 1> reader_;
  ImageGeometry<D> geometry_;
  std::vector<std::string> notes_;
  std::vector<ImagePointer<D>> whole_; // empty: the file is read in slices
};

}
