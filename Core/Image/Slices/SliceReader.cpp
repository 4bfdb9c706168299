#include "Core/Image/Slices/SliceReader.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Core/Image/Voxels/VoxelValues.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t stageBytes = std::size_t(4) << 20;

/// Converts voxels [first, last) of one image to floats.
template <class T>
void intensities(const StoredVoxels<T>& stored, std::size_t image, std::size_t first, std::size_t last,
                 float* out)
{
  const StoredLayout& layout = stored.layout;
  if (!layout.isLuminance && layout.ofVoxel == 1) {
    const T* const from = stored.values + image * layout.ofComponent;
    if (layout.scaling.isScaled())
      std::transform(from + first, from + last, out,
                     [scaling = layout.scaling](T number) { return static_cast<float>(scaling(number)); });
    else
      std::transform(from + first, from + last, out, [](T number) { return static_cast<float>(number); });
    return;
  }
  for (std::size_t i = first; i < last; ++i)
    *out++ = stored.intensity(image, i);
}

}

void SliceSource::begin(VoxelsAs as, double outside, std::size_t slices)
{
  slices_ = slices;
  if (as == VoxelsAs::labels) {
    requireLabels(header());
    labels_.emplace(header().componentType, outside);
  } else if (as == VoxelsAs::components || header().meaning == PixelMeaning::vector) {
    imageCount_ = components();
  }
}

std::string SliceSource::whyNot() const
{
  return source_->place()
             ? ""
             : "files of this kind are read as a whole (not so NIfTI of one file and volume, scalars or "
               "vectors that are not scaled, and MetaImage and NRRD with binary voxels of axes in space, "
               "components first, in one file and with nothing to skip before them)";
}

void SliceSource::open()
{
  const VoxelPlace& place = *source_->place();
  while (ranges_.size() < (place.apart ? components() : 1))
    ranges_.push_back(std::make_unique<VoxelRanges>(place, header().path));
}

StoredLayout SliceSource::layout(std::size_t voxelCount) const
{
  const bool isApart = source_->place()->apart;
  return {
      header().typeInFile, components(), isApart ? voxelCount : 1, isApart ? 1 : components(), isLuminance(),
      labels_.has_value(), scaling()};
}

/// Reads values of all components: component after component if they lie apart in the file, else interleaved.
template <class T>
void SliceSource::readValues(std::size_t firstVoxel, std::span<T> out, int threads)
{
  const std::size_t count = components(), length = out.size() / count;
  if (!source_->place()->apart)
    return ranges_.front()->read(firstVoxel * count * sizeof(T), std::as_writable_bytes(out), threads);
  for (std::size_t c = 0; c < count; ++c)
    readValues<T>(*ranges_[c], c, firstVoxel, out.subspan(c * length, length), threads);
}

/// Reads values of one component that lies apart.
template <class T>
void SliceSource::readValues(VoxelRanges& ranges, std::size_t component, std::size_t firstVoxel,
                             std::span<T> out, int threads)
{
  ranges.read((component * voxelCount() + firstVoxel) * sizeof(T), std::as_writable_bytes(out), threads);
  if (source_->place()->towardsRas && component < 2)
    std::transform(out.begin(), out.end(), out.begin(), [](T value) { return static_cast<T>(-value); });
}

void SliceSource::readStored(std::size_t firstVoxel, std::size_t voxelCount, std::byte* to, int threads)
{
  open();
  withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    readValues<T>(firstVoxel, {reinterpret_cast<T*>(to), voxelCount * components()}, threads);
  });
}

void SliceSource::readComponent(std::size_t component, std::size_t firstVoxel, std::size_t voxelCount,
                                std::byte* to, int threads)
{
  if (ranges_.empty())
    ranges_.push_back(std::make_unique<VoxelRanges>(*source_->place(), header().path));
  withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    readValues<T>(*ranges_.front(), component, firstVoxel, {reinterpret_cast<T*>(to), voxelCount}, threads);
  });
}

/// Calls body(values, number of voxels before, number of voxels) for consecutive pieces.
template <class T, class Body>
void SliceSource::forEachStage(std::size_t firstVoxel, std::size_t endVoxel, int threads, Body&& body)
{
  const std::size_t count = components(),
                    maxVoxels = std::max<std::size_t>(1, stageBytes / (count * sizeof(T)));
  if (!stage_)
    stage_ = std::make_unique_for_overwrite<std::byte[]>(maxVoxels * count * sizeof(T));
  T* const values = reinterpret_cast<T*>(stage_.get());
  for (std::size_t first = firstVoxel; first < endVoxel; first += maxVoxels) {
    const std::size_t length = std::min(maxVoxels, endVoxel - first);
    readValues<T>(first, {values, length * count}, threads);
    body(StoredVoxels<T>{values, layout(length)}, first - firstVoxel, length);
  }
}

bool SliceSource::needsCounts() const
{
  return withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    // readImage decides the same.
    const bool roundingIsReported = !isLuminance() && imageCount_ == 1 && !scaling().isScaled();
    return mayBeNonFinite() || (sizeof(T) >= sizeof(float) && roundingIsReported)
           || (labels_ && scaling().isScaled());
  });
}

/// Scaling is monotonic, so that the ends of an integer type's range decide.
bool SliceSource::mayBeNonFinite() const
{
  return withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_floating_point_v<T>)
      return true;
    return !std::isfinite(scaling()(std::numeric_limits<T>::min()))
           || !std::isfinite(scaling()(std::numeric_limits<T>::max()));
  });
}

void SliceSource::found(const VoxelCounts& counts)
{
  nonFinite_ = counts.nonFinite;
  if (isLuminance())
    notes_.push_back(luminanceNote(header()));
  if (labels_ && counts.inexact > 0)
    labels_->beNumbered();
  else if (counts.inexact > 0)
    notes_.push_back(roundedNote(header().path, counts.inexact));
  if (nonFinite_ == voxelCount() && imageCount_ == 1)
    failNoneFinite(header().path, voxelCount());
}

template <class T>
VoxelCounts SliceSource::counted(int threads)
{
  std::atomic<unsigned long long> nonFinite{0}, inexact{0};
  forEachStage<T>(
      0, voxelCount(), threads, [&](const StoredVoxels<T>& stored, std::size_t, std::size_t length) {
        forEachRange(Context{{}, threads}, length, convertedAtOnce, [&](std::size_t first, std::size_t last) {
          VoxelCounts counts;
          for (std::size_t i = first; i < last; ++i) {
            if (std::is_floating_point_v<T> || stored.layout.scaling.isScaled())
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

void SliceSource::survey(int threads)
{
  open();
  withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    found(needsCounts() ? counted<T>(threads) : VoxelCounts{});
  });
}

void SliceSource::setAsideNonFinite(std::span<float* const> images, std::size_t first, std::size_t last,
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

void SliceSource::read(std::size_t firstSlice, std::size_t sliceCount, std::span<float* const> images,
                       std::uint8_t* finite, int threads)
{
  open();
  const std::size_t voxelsOfSlice = voxelCount() / slices_;
  withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    forEachStage<T>(firstSlice * voxelsOfSlice, (firstSlice + sliceCount) * voxelsOfSlice, threads,
                    [&](const StoredVoxels<T>& stored, std::size_t before, std::size_t length) {
                      forEachRange(Context{{}, threads}, length, convertedAtOnce,
                                   [&](std::size_t first, std::size_t last) {
                                     for (std::size_t image = 0; image < images.size(); ++image)
                                       intensities(stored, image, first, last,
                                                   images[image] + before + first);
                                     setAsideNonFinite(images, before + first, before + last, finite);
                                   });
                    });
  });
}

void SliceSource::number(const std::byte* stored, std::size_t voxelCount, float* image, std::uint8_t* finite,
                         int threads)
{
  withPixelType(header().typeInFile, [&]<class T>(std::type_identity<T>) {
    const std::span numbers(reinterpret_cast<const T*>(stored), voxelCount);
    const std::span<float> to(image, voxelCount);
    if (!scaling().isScaled())
      return labels_->number<T>(header().path, numbers, to, threads);
    using Value = ValueScaling::Value<T>;
    const auto values = largeArray<Value>(voxelCount);
    forEachRange(Context{{}, threads}, voxelCount, convertedAtOnce, [&](std::size_t first, std::size_t last) {
      std::transform(numbers.begin() + first, numbers.begin() + last, values.get() + first, scaling());
    });
    labels_->number<Value>(header().path, {values.get(), voxelCount}, to, threads);
  });
  forEachRange(Context{{}, threads}, voxelCount, convertedAtOnce, [&](std::size_t first, std::size_t last) {
    setAsideNonFinite({&image, 1}, first, last, finite);
  });
}

}
