#pragma once

#include "Tools/Python/Arrays.h"

namespace tessera::python {

using Sources = std::vector<const Source*>;

/// A registration that Python asks for. Sources are those of objects that the caller keeps until the work has
/// ended.
struct Asked {
  Sources fixed, moving, fixedMasks, movingMasks, fixedLabels, movingLabels; // labels: none or one
  RunRequest request;                                                        // all else
  bool resamples = true;          // stages make the images that their parameters ask for
  bool takesPixelsOnCuda = false; // images that CUDA has made stay on its device
};

/// The request with copies of all arrays.
RunRequest requestOf(const Asked&, Log&);

}
