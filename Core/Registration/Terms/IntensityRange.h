#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <string>

namespace tessera {

struct IntensityRange {
  float lowest = 0, highest = 0;
};

/// The range of the voxels whose centre lies in the mask (null: all voxels), without NaN. `name` stands for
/// the image in messages. Throws Error(unreadableInput) if no voxel is left.
template <int D>
IntensityRange intensityRange(const Context&, const Image<D>& image, const Mask<D>* mask,
                              const std::string& name);

}
