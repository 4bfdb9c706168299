#include "Core/Sparse/RowProductOnCuda.cuh"

namespace tessera {

TESSERA_ROW_PRODUCTS(float)

}
