#pragma once

#include "Core/Compute/Math/ErrorStatistics.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// The determinant of the product of all linear transforms of a chain, also of those in chains that it
/// inverts: det dT/dx divided by it is that of the other transforms (-jac nonlinear). Throws Error(usage) if
/// the chain adds transforms, whose determinants do not multiply.
template <int D>
double linearDeterminant(const TransformChain<D>&);
template <>
inline double linearDeterminant<4>(const TransformChain<4>&)
{
  return 1; // no transform in 4D is linear
}

/// Determinants in order: what -jac and --describe-transform tell of them.
struct DeterminantFigures : OrderStatistics {
  std::size_t voxels = 0;  // that have a determinant
  std::size_t folded = 0;  // of these: not above 0
  std::size_t leastAt = 0; // number of the voxel with the least one, x fastest
};

/// NaN does not count.
DeterminantFigures figuresOf(const std::vector<float>& determinants);

}
