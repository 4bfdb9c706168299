#pragma once

#include "Core/Compute/Context.h"

namespace tessera::testing {

/// One thread of the CPU, for what does not depend on the device or on threads.
inline Context host;

inline Context threads(int count)
{
  return {{}, count};
}

}
