#pragma once

#include "Tools/Common/RunLog.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

namespace tessera {

/// Reads the matrices, multiplies, checks and writes. Returns the exit code.
int runSpGemm(const SpGemmArguments&, int threads, RunLog&);

}
