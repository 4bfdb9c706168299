#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// Reads a value that no kernel changes while this one runs.
template <class T>
TESSERA_HOST_DEVICE inline T loadConstant(const T* from)
{
#ifdef __CUDA_ARCH__
  return __ldg(from);
#else
  return *from;
#endif
}

}
