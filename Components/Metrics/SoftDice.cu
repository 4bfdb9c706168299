#include "Components/Metrics/SoftDice.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

template class SumsOnCuda<SoftDice>;

}
