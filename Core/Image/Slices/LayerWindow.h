#pragma once

#include "Core/Image/Slices/ImageLayers.h"
#include "Core/Image/Slices/LayerReader.h"

namespace tessera {

/// The layers of an image file that are in memory while it is gone through from one end to the other: those
/// that are asked for again are not read again.
template <int D>
class LayerWindow {
public:
  /// For at most `mostLayers` at a time. `geometry` is the whole image's, as it is resampled; the reader,
  /// after its survey, must outlive this.
  LayerWindow(LayerReader<D>& reader, const ImageGeometry<D>& geometry, std::size_t mostLayers);

  /// Bytes that a layer of the reader takes of memory.
  static double layerBytes(const LayerReader<D>&);

  /// Has these layers there, and no others. Throws Error(unreadableInput).
  void moveTo(std::size_t firstLayer, std::size_t layerCount, int threads);

  /// Until the next moveTo().
  ImageLayers<D> image(std::size_t i) const { return {geometry_, first_, count_, images_[i].get()}; }
  /// Which voxels are a number; null if all of the file's are. Of the layers of the last moveTo().
  MaskPointer<D> finite() const { return finite_; }

private:
  void readTo(std::size_t place, std::size_t firstLayer, std::size_t layerCount, int threads);
  std::uint8_t* finiteFrom(std::size_t place)
  {
    return finite_ ? finite_->voxels.data() + place * ofLayer_ : nullptr;
  }

  LayerReader<D>& reader_;
  ImageGeometry<D> geometry_;
  std::size_t ofLayer_, most_, first_ = 0, count_ = 0;
  std::vector<std::unique_ptr<float[]>> images_;
  std::unique_ptr<std::byte[]> stored_; // labels that are numbered, of which other layers have other numbers
  std::shared_ptr<Mask<D>> finite_;
};

}
