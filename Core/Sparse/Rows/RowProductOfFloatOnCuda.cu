#include "Core/Sparse/Rows/RowProductOnCuda.cuh"

namespace tessera {

TESSERA_ROW_PRODUCTS(float)

}
