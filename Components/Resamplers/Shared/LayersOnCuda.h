#pragma once

#include "Components/Resamplers/Shared/InputLayers.h"
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include <optional>

namespace tessera {

/// A moving image as kernels see it while a result is computed in order of its layers: all of it, or some
/// layers at a time.
template <int D>
class LayersOnCuda {
public:
  LayersOnCuda(const MovingToResample<D>&, const TransformChain<D>&, const ImageGeometry<D>& output);

  /// So many layers of the output, at most `most`, ask for no more than may be there at a time.
  std::size_t outputLayers(std::size_t most) const;
  /// For these layers of the output; gives work to the context's stream, and may copy.
  const MovingToResample<D>& broughtFor(Context&, const LayerRange& ofOutput);

private:
  MovingToResample<D> moving_;
  std::optional<InputLayers<D>> asked_; // nothing: all of the image is there
};

}
