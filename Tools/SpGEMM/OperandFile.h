#pragma once

#include "Core/Sparse/MatrixFile.h"
#include "Tools/Common/RunLog.h"

namespace tessera {

/// Reads a matrix and tells its size and what was added or left out. Throws Error(unreadableInput).
MatrixFile readOperand(const Context&, const std::string& path, RunLog&);

}
