#pragma once

#include "Core/Registration/Transform.h"

#include <optional>

namespace tessera {

/// Any chain of linear transforms and at most one B-spline as T(x) = linear(x) + turn * u(toSpline(x)), with
/// u(y) the displacement of the B-spline at y. All in mm.
template <int D>
struct OneSplineChain {
  AffineMap<D> linear, toSpline;
  Matrix<D> turn = identityMatrix<D>();
  const TransformChain<D>* spline = nullptr; // the link of the chain with the B-spline; null: T is linear
};

/// Empty if the chain has two transforms that are not linear, or one that is neither linear nor a B-spline.
template <int D>
std::optional<OneSplineChain<D>> asOneSpline(const TransformChain<D>&);

}
