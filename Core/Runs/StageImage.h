#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Resampler.h"

#include <memory>
#include <span>
#include <string>

namespace tessera {

/// The moving image on the grid of the fixed one, as a parameter file asks for it.
template <int D>
struct ResultImage {
  ImageGeometry<D> geometry; // with the direction of the fixed image's header
  PixelType type = PixelType::float32;
  std::unique_ptr<std::byte[]> pixels; // null: there is none

  std::span<const std::byte> bytes() const
  {
    return {pixels.get(), geometry.voxelCount() * pixelTypeSize(type)};
  }
};

/// What makes the result image of a stage.
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
  /// the levels.
  ResultImage<D> resampled(const Context& ofStage, const TransformChain<D>&, Log&) const;

private:
  Context contextFor(const Context& ofStage, const TransformChain<D>&, Log&) const;
};

}
