#pragma once

#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Image/Slices/SliceReader.h"

namespace tessera {

/// The slices of an image file that are in memory while it is gone through from one end to the other: those
/// that are asked for again are not read again.
template <int D>
class SliceWindow {
public:
  /// For at most `mostSlices` at a time. `geometry` is the whole image's, as it is resampled; the reader,
  /// after its survey, must outlive this.
  SliceWindow(SliceReader<D>& reader, const ImageGeometry<D>& geometry, std::size_t mostSlices);

  /// Bytes that a slice of the reader takes of memory.
  static double sliceBytes(const SliceReader<D>&);

  /// Has these slices there, and no others. Throws Error(unreadableInput).
  void moveTo(std::size_t firstSlice, std::size_t sliceCount, int threads);

  /// Until the next moveTo().
  ImageSlices<D> image(std::size_t i) const { return {geometry_, first_, count_, images_[i].get()}; }
  /// Which voxels are a number; null if all of the file's are. Of the slices of the last moveTo().
  MaskPointer<D> finite() const { return finite_; }

private:
  void readTo(std::size_t place, std::size_t firstSlice, std::size_t sliceCount, int threads);
  std::uint8_t* finiteFrom(std::size_t place)
  {
    return finite_ ? finite_->voxels.data() + place * ofSlice_ : nullptr;
  }

  SliceReader<D>& reader_;
  ImageGeometry<D> geometry_;
  std::size_t ofSlice_, most_, first_ = 0, count_ = 0;
  std::vector<std::unique_ptr<float[]>> images_;
  std::unique_ptr<std::byte[]> stored_; // labels that are numbered, of which other slices have other numbers
  std::shared_ptr<Mask<D>> finite_;
};

}
