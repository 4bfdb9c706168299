#include "Core/Image/Slices/LayerWindow.h"

#include "Core/Compute/LargeArrays.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tessera {

namespace {

template <int D>
std::size_t labelBytes(const LayerReader<D>& reader)
{
  return pixelTypeSize(reader.header().typeInFile);
}

}

template <int D>
LayerWindow<D>::LayerWindow(LayerReader<D>& reader, const ImageGeometry<D>& geometry, std::size_t mostLayers)
    : reader_(reader), geometry_(geometry), ofLayer_(geometry.voxelCount() / geometry.size[D - 1]),
      most_(mostLayers)
{
  for (std::size_t i = 0; i < reader.imageCount(); ++i)
    images_.push_back(largeArray<float>(most_ * ofLayer_));
  if (reader.isNumbered())
    stored_ = largeArray<std::byte>(most_ * ofLayer_ * labelBytes(reader));
  if (reader.nonFiniteVoxels() > 0)
    finite_ = std::make_shared<Mask<D>>(geometry_, std::vector<std::uint8_t>(most_ * ofLayer_));
}

template <int D>
double LayerWindow<D>::layerBytes(const LayerReader<D>& reader)
{
  const ImageGeometry<D>& geometry = reader.geometry();
  const std::size_t ofVoxel = reader.imageCount() * sizeof(float)
                              + (reader.nonFiniteVoxels() > 0 ? sizeof(std::uint8_t) : 0)
                              + (reader.isNumbered() ? labelBytes(reader) + reader.numberingBytes() : 0);
  return static_cast<double>(geometry.voxelCount()) / static_cast<double>(geometry.size[D - 1])
         * static_cast<double>(ofVoxel);
}

/// Reads layers to where the `place`-th one lies.
template <int D>
void LayerWindow<D>::readTo(std::size_t place, std::size_t firstLayer, std::size_t layerCount, int threads)
{
  if (layerCount == 0)
    return;
  if (stored_) {
    reader_.readStored(firstLayer * ofLayer_, layerCount * ofLayer_,
                       stored_.get() + place * ofLayer_ * labelBytes(reader_), threads);
    return;
  }
  std::vector<float*> to;
  for (const std::unique_ptr<float[]>& image : images_)
    to.push_back(image.get() + place * ofLayer_);
  reader_.read(firstLayer, layerCount, to, finiteFrom(place), threads);
}

template <int D>
void LayerWindow<D>::moveTo(std::size_t firstLayer, std::size_t layerCount, int threads)
{
  if (layerCount > most_)
    throw std::logic_error("LayerWindow: " + std::to_string(layerCount) + " layers in room for "
                           + std::to_string(most_));
  const std::size_t end = firstLayer + layerCount, keptFirst = std::clamp(first_, firstLayer, end),
                    keptEnd = std::clamp(first_ + count_, keptFirst, end), kept = keptEnd - keptFirst;
  if (kept > 0) {
    const auto move = [&](auto* voxels, std::size_t unitsOfVoxel) {
      const std::size_t units = ofLayer_ * unitsOfVoxel;
      std::memmove(voxels + (keptFirst - firstLayer) * units, voxels + (keptFirst - first_) * units,
                   kept * units * sizeof *voxels);
    };
    if (stored_)
      move(stored_.get(), labelBytes(reader_)); // and numbered again
    for (const std::unique_ptr<float[]>& image : images_)
      move(image.get(), 1);
    if (finite_)
      move(finiteFrom(0), 1);
  }
  count_ = 0; // until all is there
  readTo(0, firstLayer, keptFirst - firstLayer, threads);
  readTo(keptEnd - firstLayer, keptEnd, end - keptEnd, threads);
  if (stored_)
    reader_.number(stored_.get(), layerCount * ofLayer_, images_[0].get(), finiteFrom(0), threads);
  first_ = firstLayer;
  count_ = layerCount;
  if (finite_)
    finite_->firstVoxel = first_ * ofLayer_;
}

template class LayerWindow<2>;
template class LayerWindow<3>;

}
