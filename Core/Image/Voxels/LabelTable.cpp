#include "Core/Image/Voxels/LabelTable.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/PixelRounding.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t maxNumbers = std::size_t(1) << std::numeric_limits<float>::digits;

/// Writes the finite values to `labels`, sorted and each once, and returns their number. `labels` has room
/// for all values.
template <class T>
std::size_t distinctLabels(std::span<const T> values, T* labels, const Context& context)
{
  std::vector<std::size_t> counts((values.size() + convertedAtOnce - 1) / convertedAtOnce);
  forEachRange(context, values.size(), convertedAtOnce, [&](std::size_t first, std::size_t last) {
    T *const begin = labels + first, *end = begin;
    for (std::size_t i = first; i < last; ++i) {
      T value = values[i];
      if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value))
          continue;
        value += T(0); // -0 becomes 0
      }
      if (end == begin || value != end[-1]) // labels mostly repeat
        *end++ = value;
    }
    std::sort(begin, end);
    counts[first / convertedAtOnce] = static_cast<std::size_t>(std::unique(begin, end) - begin);
  });
  T* end = labels;
  for (std::size_t range = 0; range < counts.size(); ++range)
    end = std::copy_n(labels + range * convertedAtOnce, counts[range], end);
  std::sort(labels, end);
  return static_cast<std::size_t>(std::unique(labels, end) - labels);
}

/// The label in another type, clamped to its range.
template <class To, class T>
To heldBy(T label, std::size_t& clamped)
{
  if constexpr (std::is_integral_v<To> && std::is_integral_v<T>)
    if (!std::in_range<To>(label)) {
      ++clamped;
      return label < 0 ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
    }
  return static_cast<To>(label);
}

}

template <class T>
void LabelTable::number(const std::string& path, std::span<const T> values, std::span<float> numbers,
                        int threads)
{
  if (roomBytes_ < values.size_bytes()) {
    room_ = largeArray<std::byte>(values.size_bytes());
    roomBytes_ = values.size_bytes();
  }
  const Context context{{}, threads};
  count_ = distinctLabels(values, reinterpret_cast<T*>(room_.get()), context);
  if constexpr (std::is_floating_point_v<T>) {
    const std::span<const T> labels(reinterpret_cast<const T*>(room_.get()), count_);
    const auto wrong = std::ranges::find_if(labels, [](T label) { return std::floor(label) != label; });
    if (wrong != labels.end())
      failToRead(path, realText(static_cast<double>(*wrong)) + " is no label", allowedLabels);
  }
  if (count_ >= maxNumbers)
    failToRead(path, std::to_string(count_) + " different labels",
               "fewer than 2^24 in memory at a time, which single precision tells apart (on the CPU, a "
               "smaller --max-memory of tessera-transform has fewer slices there)");
  const float asFloat = asIntensity(outside_);
  const bool isNumber =
      asFloat >= 0 && asFloat < static_cast<float>(count_) && asFloat == std::floor(asFloat);
  skipped_ = isNumber ? static_cast<std::size_t>(asFloat) : count_;
  forEachRange(context, values.size(), convertedAtOnce, [&](std::size_t first, std::size_t last) {
    numberRange<T>(values.subspan(first, last - first), numbers.subspan(first, last - first));
  });
}

template <class T>
void LabelTable::numberRange(std::span<const T> values, std::span<float> numbers) const
{
  const std::span<const T> labels(reinterpret_cast<const T*>(room_.get()), count_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && values[i] == values[i - 1]) {
      numbers[i] = numbers[i - 1];
      continue;
    }
    const auto found = std::lower_bound(labels.begin(), labels.end(), values[i]);
    const auto index = static_cast<std::size_t>(found - labels.begin());
    const bool isLabel = found != labels.end() && *found == values[i];
    numbers[i] =
        isLabel ? static_cast<float>(index + (index >= skipped_)) : std::numeric_limits<float>::quiet_NaN();
  }
}

std::size_t LabelTable::decode(std::span<const float> values, std::byte* stored, int threads,
                               std::optional<PixelType> to) const
{
  std::atomic<std::size_t> clamped{0};
  const auto decodeAs = [&]<class T, class To>(std::type_identity<T>, std::type_identity<To>) {
    To* const out = reinterpret_cast<To*>(stored);
    const T* const labels = reinterpret_cast<const T*>(room_.get());
    const float outside = asIntensity(outside_);
    const To storedOutside = toPixel<To>(outside_);
    forEachRange(Context{{}, threads}, values.size(), convertedAtOnce,
                 [&](std::size_t first, std::size_t last) {
                   std::size_t count = 0;
                   for (std::size_t i = first; i < last; ++i) {
                     if (!isNumbered()) {
                       out[i] = toPixel<To>(values[i]);
                     } else if (values[i] == outside) {
                       out[i] = storedOutside;
                     } else {
                       const auto number = static_cast<std::size_t>(values[i]);
                       out[i] = heldBy<To>(labels[number - (number > skipped_)], count);
                     }
                   }
                   clamped += count;
                 });
  };
  withPixelType(type_, [&]<class T>(std::type_identity<T> type) {
    withPixelType(to.value_or(type_), [&]<class To>(std::type_identity<To> target) {
      if constexpr (std::is_same_v<T, To> || (std::is_integral_v<T> && sizeof(T) >= sizeof(float)))
        decodeAs(type, target); // only large whole numbers become another type
    });
  });
  return clamped;
}

#define TESSERA_INSTANTIATE(T)                                                                               \
  template void LabelTable::number<T>(const std::string&, std::span<const T>, std::span<float>, int);
TESSERA_INSTANTIATE(std::int8_t)
TESSERA_INSTANTIATE(std::uint8_t)
TESSERA_INSTANTIATE(std::int16_t)
TESSERA_INSTANTIATE(std::uint16_t)
TESSERA_INSTANTIATE(std::int32_t)
TESSERA_INSTANTIATE(std::uint32_t)
TESSERA_INSTANTIATE(std::int64_t)
TESSERA_INSTANTIATE(std::uint64_t)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}
