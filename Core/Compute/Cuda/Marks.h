#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <map>
#include <string>

// Marks in the stream of a context on CUDA, which measure parts of its work without waiting for them.
namespace tessera {

TESSERA_CUDA_ONLY void keepMarksOnCuda(const Context&);
TESSERA_CUDA_ONLY void markPartOnCuda(const Context&, const char* part);
TESSERA_CUDA_ONLY std::map<std::string, double> takeMarkedPartsOnCuda(const Context&);

/// Marks are kept from now on; before, and on the CPU, they are nothing.
inline void keepMarks([[maybe_unused]] const Context& context)
{
  if constexpr (builtWithCuda)
    keepMarksOnCuda(context);
}
/// Marks where the work of a part ends, which began at the mark before. Null: it is of no part.
inline void markPart([[maybe_unused]] const Context& context, [[maybe_unused]] const char* part)
{
  if constexpr (builtWithCuda)
    markPartOnCuda(context, part);
}
/// The milliseconds of the parts by the device's clock, since the last call. Waits for the marks.
inline std::map<std::string, double> takeMarkedParts([[maybe_unused]] const Context& context)
{
  if constexpr (builtWithCuda)
    return takeMarkedPartsOnCuda(context);
  else
    return {};
}

}
