#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Inverse/InverseTransform.h"

#include <span>
#include <string>

namespace tessera {

/// By how much T(x) may differ from y, mm, where x is found as the root of y for a file that other programs
/// apply: about the rounding of its displacements.
constexpr double toleranceInFilesMm = 1e-5;

/// The inverse of a chain on a grid of the moving space. A voxel's root may be off by a thousandth of the
/// smallest spacing, in the moving space, and by at most `largestMm`. It is prepared by the threads of the
/// context, unless that is null.
template <int D>
ChainPointer<D> inverseOnGrid(Context*, ChainPointer<D>, const Registry&, const ImageGeometry<D>& grid,
                              double largestMm);

/// Prepares the inverses of a chain that are searched (ChainInverse::cells), by the context's threads. To be
/// called if they are computed on the CPU.
template <int D>
void prepareSearch(Context&, const TransformChain<D>&);

/// The inverse of a chain for points of the moving space (mm); roots may be off by 1e-9 mm.
template <int D>
ChainPointer<D> inverseForPoints(Context&, ChainPointer<D>, const Registry&,
                                 std::span<const Vec<D>> pointsMm);

/// Whether a transform of a chain is an inverse that computes roots by search: those of linear chains are in
/// closed form.
template <int D>
bool isSearched(const TransformChain<D>& chain);

/// Logs how many of the `expected` places ("voxels", "points") have a root since the last call, the largest
/// residual, and a warning if some have none. A place that was asked for several times counts once. Linear
/// chains have a root everywhere: nothing is logged.
template <int D>
void logRoots(const TransformChain<D>& inverse, std::size_t expected, const std::string& places, Log&);

}
