#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Image.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <optional>
#include <string>

namespace tessera {

/// An inverse as one B-spline transform, and how far it is from the inverse at voxels that have a root.
template <int D>
struct InverseSpline {
  ChainPointer<D> chain; // of one transform
  double meanMm = 0, largestMm = 0;

  std::string text() const; // one line for logs and files
};

/// Fits a B-spline to an inverse by least squares at the voxels of a lattice. Its control points run along
/// the lattice; their spacing is that of the finest B-spline in `of`, the chain that was inverted. Its order
/// is the highest of those of `of` unless one is given. `fieldMm` is the inverse's field on the lattice,
/// T^-1(y) - y, and NaN where there is no root. Throws Error(usage) if the chain has no B-spline.
template <int D>
InverseSpline<D> fitInverse(Context&, const Registry&, const TransformChain<D>& of,
                            const VectorImage<D>& fieldMm, std::optional<int> order = {});

}
