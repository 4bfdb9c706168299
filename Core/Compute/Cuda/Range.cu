#include "Core/Compute/Cuda/Range.h"

#include <nvtx3/nvToolsExt.h>

namespace tessera {

void beginProfilerRange(const char* name)
{
  nvtxRangePushA(name);
}

void endProfilerRange()
{
  nvtxRangePop();
}

}
