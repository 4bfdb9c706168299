#pragma once

#include "Core/Image/ImageGeometry.h"
#include "Core/Parameters/Parameters.h"

#include <optional>
#include <vector>

namespace tessera {

/// The matrix R diag(scales) R^T that gradients of the moving image are multiplied by, R the image's
/// direction or the identity; nothing if no scales are given.
template <int D>
std::optional<Matrix<D>> gradientMatrix(const Parameters&, const ImageGeometry<D>& moving);

/// The parameters that it reads.
std::vector<ParameterInfo> gradientMatrixParameters();

}
