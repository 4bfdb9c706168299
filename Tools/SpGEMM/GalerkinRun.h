#pragma once

#include "Core/Sparse/MatrixFile.h"
#include "Tools/Common/RunLog.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

namespace tessera {

/// Makes the Galerkin product of A and P, or of R, A and P, and those of further matrices that have the
/// pattern of A, and writes them. Returns the exit code. Throws Error.
template <class V>
int runGalerkin(const SpGemmArguments&, int threads, std::vector<MatrixFile> files, RunLog&);

}
