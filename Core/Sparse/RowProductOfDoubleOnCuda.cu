#include "Core/Sparse/RowProductOnCuda.cuh"

namespace tessera {

template void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<double>&, const CsrView<double>&,
                                   const RowBinCounts&, const std::uint32_t*, CsrOnCuda<double>&, std::uint32_t*);

}
