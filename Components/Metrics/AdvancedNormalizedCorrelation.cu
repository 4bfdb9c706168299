#include "Components/Metrics/AdvancedNormalizedCorrelation.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

template class SumsOnCuda<AdvancedNormalizedCorrelation>;

}
