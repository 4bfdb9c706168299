#pragma once

#include "Tools/Common/RunLog.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

namespace tessera {

/// Reads, multiplies, checks, writes. Returns the exit code.
int runSpGemm(const SpGemmArguments&, int threads, RunLog&);

}
