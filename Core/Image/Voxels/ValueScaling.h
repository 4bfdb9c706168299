#pragma once

#include "Core/Compute/HostDevice.h"

#include <type_traits>

namespace tessera {

/// How the values of voxels follow from the numbers that a file holds: NIfTI's scl_slope and scl_inter.
struct ValueScaling {
  double slope = 1, intercept = 0;

  /// Whole numbers become floats.
  template <class T>
  using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

  /// If not, values are the numbers, in their type.
  TESSERA_HOST_DEVICE bool isScaled() const { return slope != 1 || intercept != 0; }

  /// ITK's expression: by way of the value's type, which rounds whole numbers beyond 2^24 before they are
  /// scaled.
  template <class T>
  TESSERA_HOST_DEVICE Value<T> operator()(T number) const
  {
    return static_cast<Value<T>>(static_cast<double>(static_cast<Value<T>>(number)) * slope + intercept);
  }
};

}
