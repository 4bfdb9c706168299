#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Sparse/MatrixFile.h"
#include "Tools/Common/RunLog.h"

namespace tessera {

/// Reads a matrix and tells its size and what was added or left out. Throws Error(unreadableInput).
MatrixFile readOperand(const Context&, const std::string& path, RunLog&);

/// The pattern of a matrix from a file. The columns of each row rise in matrices from files.
MatrixPattern patternOf(const AnyCsrMatrix&);

/// A matrix from a file in another type of number. Throws Error(usage) that names the file.
template <class V>
CsrMatrix<V> convertedOperand(const Context& context, const std::string& path, const MatrixFile& file)
{
  return withContext(path, [&] { return converted<V>(context, file.matrix); });
}

}
