#pragma once

#include "Components/Resamplers/Shared/InputSlices.h"
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include <optional>

namespace tessera {

/// The moving image for kernels that compute a result slice by slice. The device holds all of the image, or
/// only the slices that are needed next.
template <int D>
class SlicesOnCuda {
public:
  SlicesOnCuda(const MovingToResample<D>& moving, const TransformChain<D>& chain,
               const ImageGeometry<D>& output)
      : moving_(moving)
  {
    if (moving.inSlices)
      asked_.emplace(chain, moving.inSlices->geometry(), output);
  }

  /// The largest number of output slices, at most `maxSlices`, whose input slices fit on the device together.
  std::size_t outputSlices(std::size_t maxSlices) const
  {
    if (asked_)
      while (maxSlices > 1 && asked_->maxAskedBy(maxSlices) > moving_.inSlices->maxSlices())
        --maxSlices;
    return maxSlices;
  }
  /// Enqueues the copies of the input slices that these output slices need, and returns the image with them.
  const MovingToResample<D>& preparedFor(Context& context, const SliceRange& ofOutput)
  {
    if (!asked_)
      return moving_;
    const SliceRange asked = asked_->askedBy(ofOutput);
    moving_.image.coefficients = moving_.inSlices->moveTo(context, asked.first, asked.count);
    return moving_;
  }

private:
  MovingToResample<D> moving_;
  std::optional<InputSlices<D>> asked_; // empty: the device holds all of the image
};

}
