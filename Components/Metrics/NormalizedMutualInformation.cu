#include "Components/Metrics/Shared/Histograms/EntropyOnCuda.cuh"
#include "Components/Metrics/Shared/Histograms/EntropyTerms.h"

namespace tessera {

template class EntropyOnCuda<NormalizedTerms>;

}
