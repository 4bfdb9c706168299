#include "Core/Sparse/RowProductOnCuda.cuh"

namespace tessera {

TESSERA_ROW_PRODUCTS(std::int64_t)

}
