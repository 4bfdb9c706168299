#pragma once

#include "Core/Compute/HostDevice.h"

#include <type_traits>

namespace tessera {

/// The linear map from the numbers in a file to the values of voxels: scl_slope and scl_inter of NIfTI,
/// and ElementToIntensityFunctionSlope and -Offset of MetaImage.
struct ValueScaling {
  double slope = 1, intercept = 0;

  /// The type of scaled values: float for integer pixel types.
  template <class T>
  using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

  /// If false, the values are the numbers in their own type.
  TESSERA_HOST_DEVICE bool isScaled() const { return slope != 1 || intercept != 0; }

  /// ITK's expression. It converts to the type of the values first, which rounds whole numbers beyond 2^24
  /// before they are scaled.
  template <class T>
  TESSERA_HOST_DEVICE Value<T> operator()(T number) const
  {
    return static_cast<Value<T>>(static_cast<double>(static_cast<Value<T>>(number)) * slope + intercept);
  }
};

}
