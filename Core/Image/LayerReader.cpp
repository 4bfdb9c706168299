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

/// Values of some voxels as the file holds them.
template <class T>
struct Stage {
  const T* values;
  std::size_t components, ofComponent, ofVoxel; // the last two: steps

  float intensity(bool isLuminance, std::size_t image, std::size_t voxel) const
  {
    const T* const in = values + voxel * ofVoxel;
    return isLuminance ? luminance(in, components, ofComponent) : static_cast<float>(in[image * ofComponent]);
  }

  /// Of voxels [first, last).
  void intensities(bool isLuminance, std::size_t image, std::size_t first, std::size_t last, float* out) const
  {
    if (!isLuminance && ofVoxel == 1) {
      const T* const from = values + image * ofComponent;
      std::transform(from + first, from + last, out, [](T value) { return static_cast<float>(value); });
      return;
    }
    for (std::size_t i = first; i < last; ++i)
      *out++ = intensity(isLuminance, image, i);
  }
};

template <class T>
constexpr bool mayBeNoNumber = std::is_floating_point_v<T>;

}

template <int D>
LayerReader<D>::LayerReader(const std::string& path, VoxelsAs as, double outside)
    : source_(openImage(path)), geometry_(geometryOf<D>(header()))
{
  if (as == VoxelsAs::labels) {
    requireLabels(header());
    labels_.emplace(header().componentType, outside);
  } else if (header().meaning == PixelMeaning::vector) {
    imageCount_ = components();
  }
}

template <int D>
std::string LayerReader<D>::whyNot() const
{
  return source_->place() ? ""
                          : "files of this kind are read as a whole (not so NIfTI without scaling, and MetaImage and NRRD with "
                            "binary voxels of axes in space, components first, in one file and with nothing to skip before them)";
}

template <int D>
double LayerReader<D>::besideBytes() const
{
  const VoxelPlace& place = *source_->place();
  return place.apart && place.encoding != FileEncoding::plain ? static_cast<double>(components()) * voxelRangesBytes : 0;
}

template <int D>
void LayerReader<D>::open()
{
  const VoxelPlace& place = *source_->place();
  while (ranges_.size() < (place.apart ? components() : 1))
    ranges_.push_back(openVoxels(place, header().path));
}

/// Calls body(stage, voxels before it, voxels in it), in order.
template <int D>
template <class T, class Body>
void LayerReader<D>::forEachStage(std::size_t firstVoxel, std::size_t endVoxel, int threads, Body&& body)
{
  const VoxelPlace& place = *source_->place();
  const std::size_t count = components(), most = std::max<std::size_t>(1, stageBytes / (count * sizeof(T)));
  if (!stage_)
    stage_ = std::make_unique_for_overwrite<std::byte[]>(most * count * sizeof(T));
  T* const values = reinterpret_cast<T*>(stage_.get());
  const auto readValues = [&](VoxelRanges& ranges, std::size_t first, std::span<T> out) {
    ranges.read(first * sizeof(T), std::as_writable_bytes(out), threads);
  };
  for (std::size_t first = firstVoxel; first < endVoxel; first += most) {
    const std::size_t length = std::min(most, endVoxel - first);
    if (!place.apart) {
      readValues(*ranges_.front(), first * count, {values, length * count});
      body(Stage<T>{values, count, 1, count}, first - firstVoxel, length);
      continue;
    }
    for (std::size_t c = 0; c < count; ++c) {
      const std::span<T> out(values + c * length, length);
      readValues(*ranges_[c], c * voxelCount() + first, out);
      if (place.towardsRas && c < 2)
        std::transform(out.begin(), out.end(), out.begin(), [](T value) { return static_cast<T>(-value); });
    }
    body(Stage<T>{values, count, length, 1}, first - firstVoxel, length);
  }
}

template <int D>
void LayerReader<D>::survey(int threads)
{
  open();
  if (isLuminance())
    notes_.push_back(luminanceNote(header()));
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    const bool roundingIsTold = !isLuminance() && imageCount_ == 1; // as by readImage
    if (mayBeNoNumber<T> || (sizeof(T) >= sizeof(float) && roundingIsTold))
      surveyValues<T>(threads);
  });
}

template <int D>
template <class T>
void LayerReader<D>::surveyValues(int threads)
{
  std::atomic<std::size_t> nonFinite{0}, rounded{0}, inexact{0};
  forEachStage<T>(0, voxelCount(), threads, [&](const Stage<T>& stage, std::size_t, std::size_t length) {
    forEachRange(Context{{}, threads}, length, convertedAtOnce, [&](std::size_t first, std::size_t last) {
      std::size_t others = 0;
      for (std::size_t i = first; mayBeNoNumber<T> && i < last; ++i) {
        bool isFinite = true;
        for (std::size_t image = 0; image < imageCount_ && !labels_; ++image)
          isFinite = isFinite && std::isfinite(stage.intensity(isLuminance(), image, i));
        if (labels_) // one that float does not hold may be finite though its float is not
          isFinite = std::isfinite(static_cast<double>(stage.values[i]));
        others += isFinite ? 0 : 1;
      }
      nonFinite += others;
      if (components() > 1)
        return;
      const std::span<const T> values(stage.values + first, last - first);
      rounded += countRounded(values);
      if (labels_)
        inexact += values.size() - static_cast<std::size_t>(std::count_if(values.begin(), values.end(), isExactInFloat<T>));
    });
  });
  nonFinite_ = nonFinite;
  finish(threads);
  if (inexact > 0)
    labels_->beNumbered();
  else if (rounded > 0)
    notes_.push_back(roundedNote(header().path, rounded));
  if (nonFinite_ == voxelCount() && imageCount_ == 1)
    failNoneFinite(header().path, voxelCount());
}

template <int D>
void LayerReader<D>::setAsideNonFinite(std::span<float* const> images, std::size_t first, std::size_t last,
                                       std::uint8_t* finite) const
{
  if (nonFinite_ == 0)
    return;
  std::fill(finite + first, finite + last, std::uint8_t(1));
  for (float* const image : images)
    for (std::size_t i = first; i < last; ++i) {
      finite[i] = finite[i] && std::isfinite(image[i]);
      image[i] = std::isfinite(image[i]) ? image[i] : 0.0f;
    }
}

template <int D>
void LayerReader<D>::read(std::size_t firstLayer, std::size_t layerCount, std::span<float* const> images, std::uint8_t* finite,
                          int threads)
{
  const std::size_t ofLayer = voxelCount() / geometry_.size[D - 1];
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    forEachStage<T>(firstLayer * ofLayer, (firstLayer + layerCount) * ofLayer, threads,
                    [&](const Stage<T>& stage, std::size_t before, std::size_t length) {
                      forEachRange(Context{{}, threads}, length, convertedAtOnce, [&](std::size_t first, std::size_t last) {
                        for (std::size_t image = 0; image < images.size(); ++image)
                          stage.intensities(isLuminance(), image, first, last, images[image] + before + first);
                        setAsideNonFinite(images, before + first, before + last, finite);
                      });
                    });
  });
}

template <int D>
void LayerReader<D>::readStored(std::size_t firstVoxel, std::size_t voxelCount, std::byte* to, int threads)
{
  const std::size_t size = pixelTypeSize(header().componentType);
  ranges_.front()->read(firstVoxel * size, {to, voxelCount * size}, threads);
}

template <int D>
void LayerReader<D>::number(const std::byte* stored, std::size_t voxelCount, float* image, std::uint8_t* finite, int threads)
{
  withPixelType(header().componentType, [&]<class T>(std::type_identity<T>) {
    labels_->template number<T>(header().path, {reinterpret_cast<const T*>(stored), voxelCount}, {image, voxelCount}, threads);
  });
  forEachRange(Context{{}, threads}, voxelCount, convertedAtOnce, [&](std::size_t first, std::size_t last) {
    setAsideNonFinite({&image, 1}, first, last, finite);
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
