#include "Core/Image/LayerReader.h"

#include "Core/Compute/Parallel.h"
#include "Core/Image/ImageFile.h"
#include "Core/Image/LabelImage.h"
#include "Core/Image/VoxelValues.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t stageBytes = std::size_t(4) << 20;

/// Of voxels [first, last) in one of their images.
template <class T>
void intensities(const StoredVoxels<T>& stored, std::size_t image, std::size_t first, std::size_t last, float* out)
{
  const StoredLayout& layout = stored.layout;
  if (!layout.isLuminance && layout.ofVoxel == 1) {
    const T* const from = stored.values + image * layout.ofComponent;
    std::transform(from + first, from + last, out, [](T value) { return static_cast<float>(value); });
    return;
  }
  for (std::size_t i = first; i < last; ++i)
    *out++ = stored.intensity(image, i);
}

template <class T>
constexpr bool mayBeNoNumber = std::is_floating_point_v<T>;

}

template <int D>
LayerReader<D>::LayerReader(const std::string& path, VoxelsAs as) : source_(openImage(path)), geometry_(geometryOf<D>(header()))
{
  if (as == VoxelsAs::labels) {
    requireLabels(header());
    labels_.emplace(header().componentType);
  } else if (header().meaning == PixelMeaning::vector) {
    imageCount_ = components();
  }
}

template <int D>
std::string LayerReader<D>::whyNot() const
{
  return source_->place() ? "" : "files of this kind are read as a whole (not so NIfTI without scaling, MetaImage and NRRD)";
}

template <int D>
void LayerReader<D>::open()
{
  const VoxelPlace& place = *source_->place();
  while (ranges_.size() < (place.apart ? components() : 1))
    ranges_.push_back(openVoxels(place, header().path));
}

template <int D>
StoredLayout LayerReader<D>::layout(std::size_t voxelCount) const
{
  const bool isApart = source_->place()->apart;
  return {header().componentType,     components(),  isApart ? voxelCount : 1,
          isApart ? 1 : components(), isLuminance(), labels_.has_value()};
}

/// Components one after the other if they lie apart, else together.
template <int D>
template <class T>
void LayerReader<D>::readValues(std::size_t firstVoxel, std::span<T> out, int threads)
{
  const VoxelPlace& place = *source_->place();
  const auto read = [&](VoxelRanges& ranges, std::size_t firstValue, std::span<T> values) {
    ranges.read(firstValue * sizeof(T), std::as_writable_bytes(values), threads);
  };
  const std::size_t count = components();
  if (!place.apart)
    return read(*ranges_.front(), firstVoxel * count, out);
  const std::size_t length = out.size() / count;
  for (std::size_t c = 0; c < count; ++c) {
    const std::span<T> values = out.subspan(c * length, length);
    read(*ranges_[c], c * voxelCount() + firstVoxel, values);
    if (place.towardsRas && c < 2)
      std::transform(values.begin(), values.end(), values.begin(), [](T value) { return static_cast<T>(-value); });
  }
}

template <int D>
void LayerReader<D>::readStored(std::size_t firstVoxel, std::size_t voxelCount, std::byte* to, int threads)
{
  open();
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    readValues<T>(firstVoxel, {reinterpret_cast<T*>(to), voxelCount * components()}, threads);
  });
}

/// Calls body(stage, voxels before it, voxels in it), in order.
template <int D>
template <class T, class Body>
void LayerReader<D>::forEachStage(std::size_t firstVoxel, std::size_t endVoxel, int threads, Body&& body)
{
  const std::size_t count = components(), most = std::max<std::size_t>(1, stageBytes / (count * sizeof(T)));
  if (!stage_)
    stage_ = std::make_unique_for_overwrite<std::byte[]>(most * count * sizeof(T));
  T* const values = reinterpret_cast<T*>(stage_.get());
  for (std::size_t first = firstVoxel; first < endVoxel; first += most) {
    const std::size_t length = std::min(most, endVoxel - first);
    readValues<T>(first, {values, length * count}, threads);
    body(StoredVoxels<T>{values, layout(length)}, first - firstVoxel, length);
  }
}

template <int D>
bool LayerReader<D>::needsCounts() const
{
  return withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    const bool roundingIsTold = !isLuminance() && imageCount_ == 1; // as by readImage
    return mayBeNoNumber<T> || (sizeof(T) >= sizeof(float) && roundingIsTold);
  });
}

template <int D>
bool LayerReader<D>::found(const VoxelCounts& counts)
{
  nonFinite_ = counts.nonFinite;
  if (labels_ && counts.inexact > 0)
    return false;
  if (isLuminance())
    notes_.push_back(luminanceNote(header()));
  if (counts.inexact > 0)
    notes_.push_back(roundedNote(header().path, counts.inexact));
  requireNumbers();
  return true;
}

template <int D>
void LayerReader<D>::requireNumbers() const
{
  if (nonFinite_ == voxelCount() && imageCount_ == 1)
    failNoneFinite(header().path, voxelCount());
}

template <int D>
void LayerReader<D>::survey(double outside, int threads)
{
  open();
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    const VoxelCounts counts = needsCounts() ? counted<T>(threads) : VoxelCounts{};
    if (!found(counts))
      numberLabels<T>(outside, threads);
  });
}

template <int D>
template <class T>
VoxelCounts LayerReader<D>::counted(int threads)
{
  std::atomic<unsigned long long> nonFinite{0}, inexact{0};
  forEachStage<T>(0, voxelCount(), threads, [&](const StoredVoxels<T>& stored, std::size_t, std::size_t length) {
    forEachRange(Context{{}, threads}, length, convertedAtOnce, [&](std::size_t first, std::size_t last) {
      VoxelCounts counts;
      for (std::size_t i = first; i < last; ++i) {
        if constexpr (mayBeNoNumber<T>)
          counts.nonFinite += stored.isFinite(i) ? 0 : 1;
        counts.inexact += stored.isInexact(i) ? 1 : 0;
      }
      nonFinite += counts.nonFinite;
      inexact += counts.inexact;
    });
  });
  finish(threads);
  return {nonFinite, inexact};
}

/// A label that float does not hold may be finite though its float is not.
template <int D>
template <class T>
void LayerReader<D>::numberLabels(double outside, int threads)
{
  DistinctLabels<T> labels;
  std::size_t nonFinite = 0;
  forEachStage<T>(0, voxelCount(), threads, [&](const StoredVoxels<T>& stored, std::size_t, std::size_t length) {
    const std::span<const T> values(stored.values, length);
    labels.add(values);
    if constexpr (mayBeNoNumber<T>)
      nonFinite +=
          static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); }));
  });
  labels_->setLabels(header().path, labels.inOrder(), outside);
  nonFinite_ = nonFinite;
  requireNumbers();
}

template <int D>
void LayerReader<D>::read(std::size_t firstLayer, std::size_t layerCount, std::span<float* const> images, std::uint8_t* finite,
                          int threads)
{
  const std::size_t ofLayer = voxelCount() / geometry_.size[D - 1];
  const bool isNumbered = labels_ && labels_->isNumbered();
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    const auto convert = [&](const StoredVoxels<T>& stored, std::size_t before, std::size_t first, std::size_t last) {
      if (isNumbered)
        labels_->template number<T>({stored.values + first, last - first}, {images[0] + before + first, last - first});
      for (std::size_t image = 0; image < images.size() && !isNumbered; ++image)
        intensities(stored, image, first, last, images[image] + before + first);
      if (nonFinite_ == 0)
        return;
      std::fill(finite + before + first, finite + before + last, std::uint8_t(1));
      for (std::size_t image = 0; image < images.size(); ++image)
        for (std::size_t i = before + first; i < before + last; ++i) {
          float& value = images[image][i];
          finite[i] = finite[i] && std::isfinite(value);
          value = std::isfinite(value) ? value : 0.0f;
        }
    };
    forEachStage<T>(firstLayer * ofLayer, (firstLayer + layerCount) * ofLayer, threads,
                    [&](const StoredVoxels<T>& stored, std::size_t before, std::size_t length) {
                      forEachRange(Context{{}, threads}, length, convertedAtOnce,
                                   [&](std::size_t first, std::size_t last) { convert(stored, before, first, last); });
                    });
  });
}

template <int D>
void LayerReader<D>::finish(int threads)
{
  if (!isWhole_)
    ranges_.back()->finish(threads); // the furthest, where components lie apart
  isWhole_ = true;
}

template class LayerReader<2>;
template class LayerReader<3>;

}
