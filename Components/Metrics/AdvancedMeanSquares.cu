#include "Components/Metrics/AdvancedMeanSquares.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

template class SumsOnCuda<AdvancedMeanSquares>;

}
