#include "Core/Image/LabelImage.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/LargeArrays.h"
#include "Core/Compute/Memory.h"
#include "Core/Compute/Parallel.h"
#include "Core/Image/ImageSource.h"
#include "Core/Image/InputError.h"
#include "Core/Image/PixelRounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_set>

namespace tessera {
namespace {

constexpr std::size_t mostNumbers = std::size_t(1) << std::numeric_limits<float>::digits;

/// The finite ones, in order, each once.
template <class T>
std::vector<T> distinct(std::span<const T> values)
{
  std::unordered_set<T> found;
  T last{};
  bool any = false;
  for (const T value : values) {
    if (any && value == last) // labels come in runs
      continue;
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value))
        continue;
    last = value;
    any = true;
    found.insert(value);
  }
  std::vector<T> ordered(found.begin(), found.end());
  std::sort(ordered.begin(), ordered.end());
  return ordered;
}

}

template <class T>
void LabelTable::number(const std::string& path, std::span<const T> values, double outside, std::span<float> numbers)
{
  const std::vector<T> labels = distinct(values);
  if (labels.size() >= mostNumbers)
    failToRead(path, std::to_string(labels.size()) + " different labels", "fewer than 2^24, which single precision tells apart");
  outside_ = outside;
  const auto asFloat = static_cast<float>(outside);
  const bool isNumber = asFloat >= 0 && asFloat < static_cast<float>(labels.size()) && asFloat == std::floor(asFloat);
  skipped_ = isNumber ? static_cast<std::size_t>(asFloat) : labels.size();
  labels_.resize(labels.size() * sizeof(T));
  std::memcpy(labels_.data(), labels.data(), labels_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && values[i] == values[i - 1]) {
      numbers[i] = numbers[i - 1];
      continue;
    }
    const auto found = std::lower_bound(labels.begin(), labels.end(), values[i]);
    const auto index = static_cast<std::size_t>(found - labels.begin());
    const bool isLabel = found != labels.end() && *found == values[i];
    numbers[i] = isLabel ? static_cast<float>(index + (index >= skipped_)) : std::numeric_limits<float>::quiet_NaN();
  }
}

void LabelTable::decode(std::span<const float> values, std::byte* stored, int threads) const
{
  withPixelType(type_, [&]<class T>(std::type_identity<T>) {
    T* const out = reinterpret_cast<T*>(stored);
    const T* const labels = reinterpret_cast<const T*>(labels_.data());
    const auto outside = static_cast<float>(outside_);
    const T storedOutside = toPixel<T>(outside_);
    forEachRange(Context{{}, threads}, values.size(), convertedAtOnce, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (!isNumbered()) {
          out[i] = toPixel<T>(values[i]);
        } else if (values[i] == outside) {
          out[i] = storedOutside;
        } else {
          const auto number = static_cast<std::size_t>(values[i]);
          out[i] = labels[number - (number > skipped_)];
        }
      }
    });
  });
}

template <int D>
LabelImage<D> readLabelImage(const std::string& path, double outside, int threads)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  const ImageHeader& header = source->header();
  if (header.components != 1)
    failToRead(path, std::to_string(header.components) + " components a voxel: no label map", "one component a voxel");
  LabelImage<D> image{{}, LabelTable(header.componentType)};
  image.loaded.image.geometry = geometryOf<D>(header);
  requireMemory(extentCount(header.size) * static_cast<double>(sizeof(float)) + static_cast<double>(source->byteCount()),
                path + ": a label map of " + extentText(header.size) + " voxels", "a smaller image, or more memory");
  std::vector<float>& voxels = image.loaded.image.voxels;
  voxels = largeVector<float>(Context{{}, threads}, header.voxelCount());
  withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
    const auto values = largeArray<T>(voxels.size());
    std::vector<std::string> none;
    source->read(reinterpret_cast<std::byte*>(values.get()), threads, none);
    const std::span<const T> all(values.get(), voxels.size());
    if (std::all_of(all.begin(), all.end(), isExactInFloat<T>))
      std::transform(all.begin(), all.end(), voxels.begin(), [](T value) { return static_cast<float>(value); });
    else
      image.table.template number<T>(path, all, outside, voxels);
  });
  setAsideNonFinite(path, threads, image.loaded);
  return image;
}

template LabelImage<2> readLabelImage<2>(const std::string&, double, int);
template LabelImage<3> readLabelImage<3>(const std::string&, double, int);

}
