#include "Testing/Toys/Metrics/SumOfAbsoluteDifferences.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

template class SumsOnCuda<SumOfAbsoluteDifferences>;

}
