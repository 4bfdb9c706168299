#pragma once

#include "Core/Registration/OptimizableTransform.h"

#include <optional>
#include <vector>

namespace tessera {

/// The rules of elastix's initializers; each transform has one of these.
enum class StartRules {
  /// Euler and Similarity: whole images, without masks.
  centered,
  /// Affine: masks count, and there are the methods Origins and GeometryTop.
  maskAware,
  /// Translation: masks count, and geometrical centres are computed from size / 2.
  translation,
};

/// Where a linear transform starts: T(x) = rotation (x - center) + translation + center.
template <int D>
struct LinearStart {
  Vec<D> centerMm{}, translationMm{};
  Matrix<D> rotation = identityMatrix<D>();
};

/// The parameters of AutomaticTransformInitialization.
std::vector<ParameterInfo> initializationParameters(StartRules rules);

/// The value of AutomaticTransformInitialization.
bool wantsAutomaticStart(const Parameters&);

/// The parts of a start that a transform uses.
enum class StartParts { center, centerAndShift, all };

/// The largest angle (rad) of the method Search; empty for other methods.
std::optional<double> angleOfSearch(const Parameters&, StartParts);

/// The start by AutomaticTransformInitializationMethod. If only other transforms have the method,
/// GeometricalCenter takes its place with a warning, as in elastix. Boxes of masks are computed in physical
/// space. Throws Error(usage) for an unknown method, and Error(registrationFailed) if an image has no centre
/// of gravity.
template <int D>
LinearStart<D> automaticStart(Context&, const Parameters&, StartRules, StartParts, const TransformStart<D>&);

}
