#include "Core/Compute/Range.h"

#include <nvtx3/nvToolsExt.h>

namespace tessera {

Range::Range(const char* name)
{
  nvtxRangePushA(name);
}

Range::~Range()
{
  nvtxRangePop();
}

}
