#include "Core/Image/LabelTable.h"

#include "Core/Compute/Parallel.h"
#include "Core/Image/ImageFile.h"
#include "Core/Image/InputError.h"
#include "Core/Image/PixelRounding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t mostNumbers = std::size_t(1) << std::numeric_limits<float>::digits;

}

template <class T>
void DistinctLabels<T>::add(std::span<const T> values)
{
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
    found_.insert(value);
  }
}

template <class T>
std::vector<T> DistinctLabels<T>::inOrder() const
{
  std::vector<T> ordered(found_.begin(), found_.end());
  std::sort(ordered.begin(), ordered.end());
  return ordered;
}

template <class T>
void LabelTable::setLabels(const std::string& path, const std::vector<T>& labels, double outside)
{
  if (labels.size() >= mostNumbers)
    failToRead(path, std::to_string(labels.size()) + " different labels", "fewer than 2^24, which single precision tells apart");
  outside_ = outside;
  const auto asFloat = static_cast<float>(outside);
  const bool isNumber = asFloat >= 0 && asFloat < static_cast<float>(labels.size()) && asFloat == std::floor(asFloat);
  skipped_ = isNumber ? static_cast<std::size_t>(asFloat) : labels.size();
  labels_.resize(labels.size() * sizeof(T));
  std::memcpy(labels_.data(), labels.data(), labels_.size());
}

template <class T>
void LabelTable::number(std::span<const T> values, std::span<float> numbers) const
{
  const std::span<const T> labels(reinterpret_cast<const T*>(labels_.data()), labels_.size() / sizeof(T));
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

#define TESSERA_INSTANTIATE(T)                                                                                                     \
  template class DistinctLabels<T>;                                                                                                \
  template void LabelTable::setLabels<T>(const std::string&, const std::vector<T>&, double);                                       \
  template void LabelTable::number<T>(std::span<const T>, std::span<float>) const;
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
