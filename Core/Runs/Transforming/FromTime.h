#pragma once

#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Resampling/ImageTask.h"

#include <span>

namespace tessera {

/// Throws Error(usage) unless images of this size are a series with the time of this number, counted from 0.
void requireTime(std::size_t number, std::span<const std::size_t> size);

/// Whether a chain leaves the last coordinate of voxels of a grid as it is, some hundred of which are looked
/// at.
template <int D>
bool keepsTimes(const TransformChain<D>&, const ImageGeometry<D>& grid);

/// The chain that carries what lies at one time of a series to all times, for T of a groupwise result: a
/// point y of the time t goes to T(x, t0), where T(x, t) = y. Both lie at t0 then. The grid holds all points
/// that will be asked for, and roots may be off by `toleranceMm`. Throws Error(usage) if the series has no
/// such time, or if T moves points along the last axis or all times alike.
template <int D>
ChainPointer<D> chainFromTime(const TransformFileContent<D>&, const Registry&, const ImageGeometry<D>& grid,
                              std::size_t number, double toleranceMm);

/// Throws Error unless an image is of one time of a series (of an axis less, or with one slice along the last
/// one) or of all of its times, and lies where the series does.
void requireAtTime(const ImageHeader& image, const ImageHeader& series, bool usesDirectionCosines);

/// Lets the images of one time, or this time of those of the whole series, be read as lying at that time of
/// the series and at the next one, because interpolators of series need two. What is wrong with an image is
/// kept in its task.
template <int D>
void placeAtTime(std::vector<ImageTask>&, const TransformFileContent<D>&, std::size_t number);

}
