#pragma once

#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Resampling/ImageTask.h"

namespace tessera {

/// Throws Error(usage) unless a series of so many times has the time of this number, counted from 0.
void requireTime(std::size_t number, std::size_t times);

/// The chain that carries what lies at one time of a series to all times, for T of a groupwise result: a
/// point y of the time t goes to T(x, t0), where T(x, t) = y. Both lie at t0 then. The grid holds all points
/// that will be asked for, and roots may be off by `toleranceMm`. Throws Error(usage) if the series has no
/// such time, or if T moves points along the last axis.
template <int D>
ChainPointer<D> chainFromTime(const TransformFileContent<D>&, const Registry&, const ImageGeometry<D>& grid,
                              std::size_t number, double toleranceMm);

/// Reads the files of one time (of D - 1 axes, or with one slice along the last one), or this time of files
/// of the whole series, and places them at that time of the series and at the next one, because
/// interpolators of series need two. What is wrong with a
/// file is kept in its task.
template <int D>
void placeAtTime(std::vector<ImageTask>&, const TransformFileContent<D>&, std::size_t number, int threads,
                 Log&);

}
