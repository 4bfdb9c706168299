#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Registration/Interpolation/InterpolateAtPoint.h"

namespace tessera {

/// Calls function.template operator()<Order>() for the order of an interpolator, since kernels have an
/// instance for each order.
template <class Function>
void withOrder(int order, const Function& function)
{
  withConstant<0, 5>(order, function);
}

}
