#pragma once

#include "Core/Image/Image.h"

#include <memory>

namespace tessera {

/// The part of a transform whose displacements are an image: whoever reads the image elsewhere than the
/// transform itself gives it here.
template <int D>
class DisplacementForm {
public:
  /// u in mm along the world's axes, D components a voxel, to be interpolated linearly: T(x) = x + u(x).
  virtual void setDisplacements(std::shared_ptr<const VectorImage<D>>) = 0;

protected:
  ~DisplacementForm() = default;
};

}
