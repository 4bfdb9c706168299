#pragma once

#include "Components/Metrics/Shared/Histograms/HistogramKernels.cuh"

namespace tessera::parzen {

/// Calls function.operator()<fixed, moving>() with both orders (0 to 3) as constants.
template <int Fixed, class Function>
void withMovingOrder(int moving, const Function& function)
{
  switch (moving) {
  case 0:
    return function.template operator()<Fixed, 0>();
  case 1:
    return function.template operator()<Fixed, 1>();
  case 2:
    return function.template operator()<Fixed, 2>();
  default:
    return function.template operator()<Fixed, 3>();
  }
}

template <class Function>
void withOrders(const ParzenWindows& windows, const Function& function)
{
  switch (windows.fixed.order) {
  case 0:
    return withMovingOrder<0>(windows.moving.order, function);
  case 1:
    return withMovingOrder<1>(windows.moving.order, function);
  case 2:
    return withMovingOrder<2>(windows.moving.order, function);
  default:
    return withMovingOrder<3>(windows.moving.order, function);
  }
}

/// Lets a kernel use more shared memory than kernels may by default.
template <class Kernel>
void allowShared(Kernel kernel, std::size_t bytes)
{
  constexpr std::size_t withoutAsking = 48 << 10;
  if (bytes > withoutAsking)
    checkCuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
}

}
