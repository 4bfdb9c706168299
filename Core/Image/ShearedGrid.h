#pragma once

#include "Core/Image/ImageGeometry.h"

#include <string>

namespace tessera {

/// Whether the axes of a grid are not perpendicular, as of a CT with gantry tilt: with the nearest
/// perpendicular axes a voxel would lie more than a tenth of the smallest spacing from its place.
template <int D>
bool isSheared(const ImageGeometry<D>&);

/// Why a file of this format would put a voxel of the grid more than a tenth of the smallest spacing beside
/// its place; empty if it does not. NIfTI-1 holds perpendicular axes alone, and numbers of 32 bits.
template <int D>
std::string whyNotHeld(const std::string& format, const ImageGeometry<D>&);

/// Throws Error(unwritableOutput) if a file of this format would put the voxels of the grid elsewhere. To be
/// called before any work.
template <int D>
void checkHoldsGrid(const std::string& format, const ImageGeometry<D>&);

/// Text for a warning: the part of this grid that the format does not store. Empty if it stores all.
template <int D>
std::string gridLostBy(const std::string& format, const ImageGeometry<D>&);

}
