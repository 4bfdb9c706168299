#include "Core/Sparse/RowProductOnCuda.cuh"

namespace tessera {

template void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<float>&, const CsrView<float>&,
                                   const RowBinCounts&, const std::uint32_t*, CsrOnCuda<float>&, std::uint32_t*);

}
