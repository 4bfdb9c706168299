#include "Core/Image/Slices/SliceWindow.h"

#include "Core/Compute/Memory/LargeArrays.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tessera {

namespace {

template <int D>
std::size_t labelBytes(const SliceReader<D>& reader)
{
  return pixelTypeSize(reader.header().typeInFile);
}

}

template <int D>
SliceWindow<D>::SliceWindow(SliceReader<D>& reader, const ImageGeometry<D>& geometry, std::size_t maxSlices)
    : reader_(reader), geometry_(geometry), sliceVoxels_(geometry.voxelCount() / geometry.size[D - 1]),
      maxSlices_(maxSlices)
{
  for (std::size_t i = 0; i < reader.imageCount(); ++i)
    images_.push_back(largeArray<float>(maxSlices_ * sliceVoxels_));
  if (reader.isNumbered())
    stored_ = largeArray<std::byte>(maxSlices_ * sliceVoxels_ * labelBytes(reader));
  if (reader.nonFiniteVoxels() > 0)
    finite_ = std::make_shared<Mask<D>>(geometry_, std::vector<std::uint8_t>(maxSlices_ * sliceVoxels_));
}

template <int D>
double SliceWindow<D>::sliceBytes(const SliceReader<D>& reader)
{
  const ImageGeometry<D>& geometry = reader.geometry();
  const std::size_t bytesOfVoxel = reader.imageCount() * sizeof(float)
                                   + (reader.nonFiniteVoxels() > 0 ? sizeof(std::uint8_t) : 0)
                                   + (reader.isNumbered() ? labelBytes(reader) + reader.numberingBytes() : 0);
  return static_cast<double>(geometry.voxelCount()) / static_cast<double>(geometry.size[D - 1])
         * static_cast<double>(bytesOfVoxel);
}

/// Reads slices into the window, from its slice number `place` on.
template <int D>
void SliceWindow<D>::readTo(std::size_t place, std::size_t firstSlice, std::size_t sliceCount, int threads)
{
  if (sliceCount == 0)
    return;
  if (stored_) {
    reader_.readStored(firstSlice * sliceVoxels_, sliceCount * sliceVoxels_,
                       stored_.get() + place * sliceVoxels_ * labelBytes(reader_), threads);
    return;
  }
  std::vector<float*> to;
  for (const std::unique_ptr<float[]>& image : images_)
    to.push_back(image.get() + place * sliceVoxels_);
  reader_.read(firstSlice, sliceCount, to, finiteFrom(place), threads);
}

template <int D>
void SliceWindow<D>::moveTo(std::size_t firstSlice, std::size_t sliceCount, int threads)
{
  if (sliceCount > maxSlices_)
    throw std::logic_error("SliceWindow: " + std::to_string(sliceCount) + " slices in room for "
                           + std::to_string(maxSlices_));
  const std::size_t end = firstSlice + sliceCount, keptFirst = std::clamp(first_, firstSlice, end),
                    keptEnd = std::clamp(first_ + count_, keptFirst, end), kept = keptEnd - keptFirst;
  if (kept > 0) {
    const auto move = [&](auto* voxels, std::size_t unitsOfVoxel) {
      const std::size_t units = sliceVoxels_ * unitsOfVoxel;
      std::memmove(voxels + (keptFirst - firstSlice) * units, voxels + (keptFirst - first_) * units,
                   kept * units * sizeof *voxels);
    };
    if (stored_)
      move(stored_.get(), labelBytes(reader_)); // number() runs again below
    for (const std::unique_ptr<float[]>& image : images_)
      move(image.get(), 1);
    if (finite_)
      move(finiteFrom(0), 1);
  }
  count_ = 0; // in case reading throws
  readTo(0, firstSlice, keptFirst - firstSlice, threads);
  readTo(keptEnd - firstSlice, keptEnd, end - keptEnd, threads);
  if (stored_)
    reader_.number(stored_.get(), sliceCount * sliceVoxels_, images_[0].get(), finiteFrom(0), threads);
  first_ = firstSlice;
  count_ = sliceCount;
  if (finite_)
    finite_->firstVoxel = first_ * sliceVoxels_;
}

TESSERA_INSTANTIATE_CLASS_TO_4(SliceWindow);

}
