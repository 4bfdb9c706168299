#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Registration/Interpolation/InterpolateAtPoint.h"

namespace tessera {

/// Calls function.template operator()<Order>() for the order of an interpolator, since kernels have an
/// instance for each order.
template <class Function>
void withOrder(int order, Function&& function)
{
  switch (order) {
  case 0:
    return function.template operator()<0>();
  case 1:
    return function.template operator()<1>();
  case 2:
    return function.template operator()<2>();
  case 3:
    return function.template operator()<3>();
  case 4:
    return function.template operator()<4>();
  default:
    return function.template operator()<5>();
  }
}

}
