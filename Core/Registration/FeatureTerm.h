#pragma once

#include "Core/Image/Image.h"
#include "Core/Registration/Interpolator.h"

#include <vector>

namespace tessera {

/// The images of a level after the first pair, which a Registration that takesFeatures() gives its term: the
/// fixed ones, and the moving ones as the interpolators that are prepared for them.
template <int D>
struct FeatureImages {
  std::vector<ImagePointer<D>> fixed;
  std::vector<const Interpolator<D>*> moving;
};

/// A CostTerm that sees features implements this interface, too.
template <int D>
class FeatureTerm {
public:
  /// For the prepareForLevel calls that follow, until it is called again. Valid as long as the level.
  virtual void setFeatures(FeatureImages<D>) = 0;

protected:
  ~FeatureTerm() = default;
};

}
