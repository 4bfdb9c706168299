#pragma once

#include "Core/Image/ImageGeometry.h"

namespace tessera {

/// A CostTerm that compares the times of a series, and not the fixed image with the moving one, implements
/// this interface, too.
template <int D>
class TermOfSeries {
public:
  /// Throws an Error if it cannot be used with images of these grids.
  virtual void checkImages(const ImageGeometry<D>& fixed, const ImageGeometry<D>& moving) = 0;

protected:
  ~TermOfSeries() = default;
};

}
