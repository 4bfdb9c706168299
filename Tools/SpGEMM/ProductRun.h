#pragma once

#include "Core/Sparse/MatrixFile.h"
#include "Tools/Common/RunLog.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

namespace tessera {

/// Multiplies the matrices of these files as asked, checks and writes. `half`: in half precision. Returns the
/// exit code. Throws Error.
template <class V>
int runProduct(const SpGemmArguments&, int threads, bool half, std::vector<MatrixFile> files, RunLog&);

}
