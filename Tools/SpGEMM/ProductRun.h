#pragma once

#include "Core/Sparse/MatrixFile.h"
#include "Tools/Common/RunLog.h"
#include "Tools/SpGEMM/SpGemmArguments.h"

namespace tessera {

/// Multiplies the matrices of these files as asked, checks and writes. `half`: in half precision. Returns the
/// exit code. Throws Error.
template <class V>
int runProduct(const SpGemmArguments&, int threads, bool half, std::vector<MatrixFile> files, RunLog&);

/// Throws Error(unreadableInput) that names the first row in which the pattern of further values is not that
/// of A.
void requirePatternOfA(const MatrixPattern& a, const MatrixPattern& given, const std::string& path);

/// Makes the Galerkin product of A and P, or of R, A and P, and those of further matrices that have the
/// pattern of A, and writes them: all of them or none. `files` are the operands and what was read of the
/// values from standard input. Returns the exit code. Throws Error.
template <class V>
int runGalerkin(const SpGemmArguments&, int threads, std::vector<MatrixFile> files, RunLog&);

}
