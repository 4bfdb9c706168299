#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace tessera {

/// The description of what a chain does on a grid, in words and as JSON.
struct TransformDescription {
  std::vector<std::string> lines;
  std::string json; // one object, with a line break at its end
};

/// Describes each transform of a chain, in the order in which they are applied: its kind, turn, shift, scale
/// and shear or its control points, and how far it moves points; then the whole chain with the determinants
/// of its spatial Jacobian. All voxels of the lattice count.
///
/// A linear transform x -> A x + b is reported as A = R S H: R turns by the angles of ITK's Euler3DTransform
/// (R = Rz Rx Ry), S scales, and H is upper triangular with ones on its diagonal (QR decomposition). The
/// shift is that of the middle of the lattice, as it comes from the transforms before.
template <int D>
TransformDescription describeTransform(Context&, const Registry&, const TransformChain<D>&,
                                       const ImageGeometry<D>& lattice);

/// A = R S H of describeTransform. If A mirrors, the last factor of S is below 0.
template <int D>
struct LinearFactors {
  std::vector<double> turnDegrees; // about x, y, z; in 2D one angle
  Vec<D> scale{};
  std::vector<double> shear; // H[0][1], H[0][2], H[1][2]; in 2D H[0][1]
};

template <int D>
LinearFactors<D> linearFactors(const Matrix<D>&);

}
