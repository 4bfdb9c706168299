#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageSide.h"

namespace tessera {

/// Erodes a mask by the voxels that the smoothing of a level mixes with the outside, as elastix does. elastix
/// erodes the grey values 0 and 1 along each axis by a parabola of scale r^2 / 2 + 1, r = schedule + 1
/// (fixed) or 2 schedule + 1 (moving) voxels, and truncates to integers after each axis. So a voxel survives
/// an axis if no voxel within k^2 < r^2 + 2 along it is outside the mask, and all axes together erode by a
/// box. Beyond the image nothing counts as outside. `schedule` is in voxels of the mask's own grid for each
/// axis. Along an axis where it is 0 the level does not smooth, and nothing is eroded (dox/Decisions/0007).
template <int D>
MaskPointer<D> erodeMask(Context&, const MaskPointer<D>&, Vec<D> schedule, ImageSide);

/// The voxels of `grid` that lie in `mask`, too. One that is null limits nothing.
template <int D>
MaskPointer<D> intersectionOf(const MaskPointer<D>& grid, const MaskPointer<D>& mask);

}
