#pragma once

namespace tessera {

// A build without the CUDA toolkit compiles no .cu file. Host code is the same in both builds: it calls the
// functions of .cu files only with a Context on a CUDA device, and in a build without CUDA nobody can have
// one, because Stream::onDevice, the only source of streams, says there that this build has no CUDA.

#ifdef TESSERA_WITHOUT_CUDA
inline constexpr bool builtWithCuda = false;
/// Stands before the declaration of a function that a .cu file defines. In a build without CUDA the linker
/// accepts calls of such a function without a definition; no run gets to them.
#define TESSERA_CUDA_ONLY [[gnu::weak]]
#else
inline constexpr bool builtWithCuda = true;
#define TESSERA_CUDA_ONLY
#endif

}
