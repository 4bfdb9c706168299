#include "Core/Sparse/RowProductOnCuda.cuh"

namespace tessera {

template void multiplyByRowsOnCuda(const Context&, SideStreams&, Semiring, const CsrView<std::int64_t>&,
                                   const CsrView<std::int64_t>&, const RowBinCounts&, const std::uint32_t*,
                                   CsrOnCuda<std::int64_t>&, std::uint32_t*);

}
