#include "Components/Metrics/Shared/EntropyOnCuda.cuh"
#include "Components/Metrics/Shared/EntropyTerms.h"

namespace tessera {

template class EntropyOnCuda<NormalizedTerms>;

}
