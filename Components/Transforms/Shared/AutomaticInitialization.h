#pragma once

#include "Core/Registration/OptimizableTransform.h"

#include <vector>

namespace tessera {

/// Which of elastix's initializers a transform has.
enum class StartRules {
  centered,    // Euler, Similarity: whole images, masks ignored
  maskAware,   // Affine: masks count; Origins and GeometryTop too
  translation, // Translation: masks count; geometrical centers by size / 2
};

/// Where a linear transform starts.
template <int D>
struct LinearStart {
  Vec<D> centerMm{}, translationMm{};
};

/// Rows of AutomaticTransformInitialization and what belongs to it.
std::vector<ParameterInfo> initializationParameters(StartRules rules);

/// Value of AutomaticTransformInitialization.
bool wantsAutomaticStart(const Parameters&);

/// Center and translation by AutomaticTransformInitializationMethod. A method that only other transforms have
/// is taken as GeometricalCenter, as elastix does, with a warning. Boxes of masks are taken in physical
/// space. Throws Error(usage) for a method without meaning, Error(registrationFailed) if an image has no
/// center of gravity.
template <int D>
LinearStart<D> automaticStart(Context&, const Parameters&, StartRules rules, const TransformStart<D>& start);

}
