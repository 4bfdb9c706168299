#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Image/Voxels/PixelType.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace tessera {

/// Converts a float or double to the pixel type T: the nearest integer (half up) in the range of T; NaN
/// becomes 0.
template <class T, class Real>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE T toPixel(Real value)
{
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (sizeof(T) == 8) {
    constexpr double bound = 2.0 * (std::numeric_limits<T>::max() / 2 + 1); // the smallest that is too large
    if (!(value == value))
      return 0;
    if (value >= bound)
      return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    return static_cast<T>(std::floor(value + 0.5));
  } else if constexpr (std::is_same_v<Real, float> && sizeof(T) <= 2) {
    constexpr float low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const float number = value == value ? value : 0.0f, held = number < low    ? low
                                                               : number > high ? high
                                                                               : number;
    const auto towardsZero = static_cast<std::int32_t>(held);
    const float rest = held - static_cast<float>(towardsZero); // exact
    return static_cast<T>(towardsZero + (rest >= 0.5f) - (rest < -0.5f));
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, std::uint32_t>, std::int64_t, std::int32_t>;
    constexpr double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    double shifted = value == value ? static_cast<double>(value) : 0.0;
    shifted = (shifted < low ? low : shifted > high ? high : shifted) + 0.5;
    const Wide towardsZero = static_cast<Wide>(shifted);
    return static_cast<T>(towardsZero - (static_cast<double>(towardsZero) > shifted));
  }
}

/// Whether toPixel<T> clamps this value to the range of an integer type.
template <class T>
TESSERA_HOST_DEVICE bool isClamped(float value)
{
  if constexpr (std::is_floating_point_v<T>)
    return false;
  else
    return value >= static_cast<float>(std::numeric_limits<T>::max()) + 0.5f
           || value < static_cast<float>(std::numeric_limits<T>::min()) - 0.5f;
}

/// Converts many values by the calling thread, and returns how many were clamped. `pixels` is aligned for the
/// type.
std::size_t toPixels(std::span<const float> values, PixelType type, std::byte* pixels);
/// Enqueues the conversion on the context's CUDA device, with the same bits. Both arrays are aligned as a
/// Buffer is. Adds the number of clamped values to `clamped`, which is on the device, too.
TESSERA_CUDA_ONLY void toPixelsOnCuda(const Context&, const float* values, std::size_t count, PixelType type,
                                      std::byte* pixels, unsigned long long* clamped);

/// A value as an intensity: infinities become the largest floats.
inline float asIntensity(double value)
{
  constexpr double greatest = std::numeric_limits<float>::max();
  return static_cast<float>(value < -greatest ? -greatest : value > greatest ? greatest : value);
}

/// Whether float holds a value exactly: a whole number whose binary digits before the zeros at its end are at
/// most 24. A value that is not finite counts as exact.
template <class T>
TESSERA_HOST_DEVICE bool isExactInFloat(T value)
{
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    auto magnitude = static_cast<Unsigned>(value);
    if constexpr (std::is_signed_v<T>)
      magnitude = value < 0 ? Unsigned(0) - magnitude : magnitude;
    const auto lowestDigit = static_cast<Unsigned>(magnitude & (Unsigned(0) - magnitude));
    return magnitude == 0 || magnitude >> std::numeric_limits<float>::digits < lowestDigit;
  } else {
    return !std::isfinite(value) || static_cast<T>(static_cast<float>(value)) == value;
  }
}

/// Whether a float can stand for a label: a whole number that it holds exactly, or a value that is not
/// finite.
template <class T>
TESSERA_HOST_DEVICE bool isExactLabel(T value)
{
  if constexpr (std::is_floating_point_v<T>)
    if (std::isfinite(value) && std::floor(value) != value)
      return false;
  return isExactInFloat(value);
}

}
