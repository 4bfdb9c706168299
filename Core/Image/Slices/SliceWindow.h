#pragma once

#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Image/Slices/SliceReader.h"

namespace tessera {

/// A window of slices of an image file in memory, which moves from one end of the image to the other. Slices
/// that are still in the window are not read again.
template <int D>
class SliceWindow {
public:
  /// A window of at most `maxSlices` slices. `geometry` is the grid of the whole image as the resampler sees
  /// it. The reader must have been surveyed, and must outlive this.
  SliceWindow(SliceReader<D>& reader, const ImageGeometry<D>& geometry, std::size_t maxSlices);

  /// Bytes of memory for one slice.
  static double sliceBytes(const SliceReader<D>&);

  /// Moves the window to these slices. Throws Error(unreadableInput).
  void moveTo(std::size_t firstSlice, std::size_t sliceCount, int threads);

  /// Image i in the window. Valid until the next moveTo().
  ImageSlices<D> image(std::size_t i) const { return {geometry_, first_, count_, images_[i].get()}; }
  /// The voxels of the window that are finite; null if all voxels of the file are.
  MaskPointer<D> finite() const { return finite_; }

private:
  void readTo(std::size_t place, std::size_t firstSlice, std::size_t sliceCount, int threads);
  std::uint8_t* finiteFrom(std::size_t place)
  {
    return finite_ ? finite_->voxels.data() + place * sliceVoxels_ : nullptr;
  }

  SliceReader<D>& reader_;
  ImageGeometry<D> geometry_;
  std::size_t sliceVoxels_, maxSlices_, first_ = 0, count_ = 0;
  std::vector<std::unique_ptr<float[]>> images_;
  std::unique_ptr<std::byte[]> stored_; // labels to be numbered anew at each move
  std::shared_ptr<Mask<D>> finite_;
};

}
