#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <string>

namespace tessera {

struct IntensityRange {
  float lowest = 0, highest = 0;
};

/// The range of intensities of the voxels whose centre lies in the mask (null: of all voxels); NaN is left
/// out. `name` is what error messages call the image. Throws Error(unreadableInput) if no voxel is left.
template <int D>
IntensityRange intensityRange(const Context&, const ImagePointer<D>& image, const Mask<D>* mask,
                              const std::string& name);

}
