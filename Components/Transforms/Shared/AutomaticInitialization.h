#pragma once

#include "Core/Registration/OptimizableTransform.h"

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

/// The centre of rotation and the translation at which a linear transform starts.
template <int D>
struct LinearStart {
  Vec<D> centerMm{}, translationMm{};
};

/// The parameters AutomaticTransformInitialization and AutomaticTransformInitializationMethod.
std::vector<ParameterInfo> initializationParameters(StartRules rules);

/// The value of AutomaticTransformInitialization.
bool wantsAutomaticStart(const Parameters&);

/// Centre and translation by AutomaticTransformInitializationMethod. If only other transforms have the
/// method, GeometricalCenter takes its place with a warning, as in elastix. Boxes of masks are computed in
/// physical space. Throws Error(usage) for an unknown method, and Error(registrationFailed) if an image has
/// no centre of gravity.
template <int D>
LinearStart<D> automaticStart(Context&, const Parameters&, StartRules rules, const TransformStart<D>& start);

}
