#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Resampling/ResultSink.h"

#include <string>

namespace tessera {

/// What makes the result image of a stage: the moving image on the grid of the fixed one.
template <int D>
struct StageImage {
  const Resampler<D>& resampler;
  Interpolator<D>& interpolator;
  std::string interpolatorName;
  ImagePointer<D> moving;
  MaskPointer<D> valid;       // where its voxels are numbers; null: everywhere
  ImageGeometry<D> fixed;     // as the stage works with it
  Matrix<D> fixedDirection{}; // of the header

  /// Resamples the image on the stage's device, or, with a note, on the CPU if the interpolator has no CUDA
  /// form, or if the device has too little memory left for whole images, which may be larger than those of
  /// the levels. Where the caller says so, a result of the device stays there.
  ResultImage<D> resampled(const Context& ofStage, const TransformChain<D>&, Log&,
                           bool mayStayOnCuda = false) const;

private:
  Context contextFor(const Context& ofStage, const TransformChain<D>&, Log&) const;
};

}
