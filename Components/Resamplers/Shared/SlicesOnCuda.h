#pragma once

#include "Components/Resamplers/Shared/InputSlices.h"
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include <optional>

namespace tessera {

/// A moving image as kernels see it while a result is computed in order of its slices: all of it, or some
/// slices at a time.
template <int D>
class SlicesOnCuda {
public:
  SlicesOnCuda(const MovingToResample<D>&, const TransformChain<D>&, const ImageGeometry<D>& output);

  /// So many slices of the output, at most `most`, ask for no more than may be there at a time.
  std::size_t outputSlices(std::size_t most) const;
  /// For these slices of the output; gives work to the context's stream, and may copy.
  const MovingToResample<D>& broughtFor(Context&, const SliceRange& ofOutput);

private:
  MovingToResample<D> moving_;
  std::optional<InputSlices<D>> asked_; // nothing: all of the image is there
};

}
