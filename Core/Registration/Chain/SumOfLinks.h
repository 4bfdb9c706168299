#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// A coordinate of a point x that T0 and then an added T1 map to T0(x) + T1(x) - x, from those of x, T0(x)
/// and T1(x).
inline TESSERA_HOST_DEVICE double sumOfLinks(double x, double mappedBefore, double mappedByLink)
{
  return mappedByLink + (mappedBefore - x);
}

}
