#pragma once

#include "Core/Registration/Transform.h"

#include <optional>

namespace tessera {

/// T(x) = linear(x) + turn * u(asked(x)), u the displacements of a B-spline: what any linear transforms
/// before, after and beside one B-spline come to. All in mm.
template <int D>
struct OneSplineChain {
  AffineMap<D> linear, asked;
  Matrix<D> turn = identityMatrix<D>();
  const TransformChain<D>* spline = nullptr; // the chain's link that has it; null: T is linear
};

/// Nothing if the chain has two transforms that are not linear, or one that is no B-spline.
template <int D>
std::optional<OneSplineChain<D>> asOneSpline(const TransformChain<D>&);

}
