#pragma once

#include "Core/Registration/Interpolator.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct ValuesAtPoints {
  std::vector<float> values;
  std::vector<std::uint8_t> inside; // whether the point lies in the image
};

/// The intensities of an image at any points, by an interpolator without parameters of its own. Both devices
/// give the same bits.
template <int D>
class ImageAtPoints {
public:
  /// Reads voxels that lie on the device alone there, so that they need not come to the host; others are read
  /// by the host, on the threads of the context.
  ImageAtPoints(const Context&, const Registry&, const std::string& interpolator, const ImagePointer<D>&);

  bool onCuda() const { return context_.onCuda(); }
  ValuesAtPoints at(const std::vector<Vec<D>>& pointsMm) const;

private:
  Context context_;
  std::unique_ptr<Interpolator<D>> interpolator_;
};

}
