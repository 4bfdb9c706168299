#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Image/Landmarks/TreeRegularization.h"

namespace tessera {

/// The number of a keypoint's first least cost, that cost, and those before and after it along each axis (the
/// cost itself at the edge of the grid).
struct LeastOfGrid {
  int number = 0;
  float cost = 0, before[3]{}, after[3]{};
};

/// regularizeOnTree of costs * weight, in place, with the bits of the CPU. `costs` and `messages` lie on the
/// context's CUDA device, grid.count() numbers a keypoint. A block of threads for each keypoint goes through
/// the levels of the tree, up and down.
TESSERA_CUDA_ONLY void regularizeOnTreeByCuda(const Context&, const Tree&, const DisplacementGrid&,
                                              float weight, float* costs, float* messages);

/// The least costs of `keypoints` keypoints; all arrays lie on the device.
TESSERA_CUDA_ONLY void leastCostsOnCuda(const Context&, const float* costs, std::size_t keypoints,
                                        const DisplacementGrid&, LeastOfGrid* least);

namespace treeregularization {

/// A number of: out = min over j of in_j + factor (i - j)^2 along an axis of n numbers with this stride.
TESSERA_HOST_DEVICE inline float spreadAlong(const float* in, int n, int stride, float factor, int number)
{
  const int i = number / stride % n;
  const float* const line = in + number - i * stride;
  float least = in[number];
  for (int j = 0; j < n; ++j) {
    const float steps = static_cast<float>(i) - static_cast<float>(j);
    const float value = line[j * stride] + factor * steps * steps;
    least = value < least ? value : least;
  }
  return least;
}

}

}
