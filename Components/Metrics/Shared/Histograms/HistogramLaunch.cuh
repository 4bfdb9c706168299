#pragma once

#include "Components/Metrics/Shared/Histograms/HistogramKernels.cuh"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera::parzen {

/// Calls function.operator()<fixed, moving>() with both orders (0 to 3) as constants.
template <class Function>
void withOrders(const ParzenWindows& windows, const Function& function)
{
  withConstant<0, 3>(windows.fixed.order, [&]<int Fixed>() {
    withConstant<0, 3>(windows.moving.order,
                       [&]<int Moving>() { function.template operator()<Fixed, Moving>(); });
  });
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
