#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageSide.h"

namespace tessera {

/// Takes from a mask what the level's smoothing mixes with the outside. elastix erodes the mask's grey values
/// 0 and 1 by a parabola of scale r^2 / 2 + 1 an axis, r = schedule + 1 (fixed) or 2 schedule + 1 (moving)
/// voxels, truncating to integers after each axis. So a voxel survives an axis if no voxel within k^2 < r^2 +
/// 2 along it is outside the mask, and a box is what all axes erode by. Beyond the image nothing counts as
/// outside. `schedule` is in voxels, per axis; the mask's own grid is meant.
template <int D>
MaskPointer<D> erodeMask(Context&, const MaskPointer<D>&, Vec<D> schedule, ImageSide);

}
