#pragma once

#include "Core/Image/Pictures/PictureSlices.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Runs/Report/SlicePictures.h"

#include <array>
#include <memory>
#include <vector>

namespace tessera {

constexpr std::size_t pixelsOfMap = 2; // maps are smooth: one value for so many pixels along each axis

/// The luminance of a pixel of one or three values, from 0 to 255.
inline float luminanceOf(const std::uint8_t* pixel, std::size_t channels)
{
  return channels == 1 ? pixel[0] : 0.2125F * pixel[0] + 0.7154F * pixel[1] + 0.0721F * pixel[2];
}

/// The values of a slice, from which its colours are computed later.
struct SliceValues {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> fixed, before, warped; // grey values, or red, green and blue in turn
  std::array<std::vector<float>, 2> movingMm;      // along the picture's axes
  std::vector<float> displacementMm;               // at every second pixel
  std::vector<int> fixedLabels, warpedLabels, fixedMask, maskBefore, warpedMask; // empty: none
  std::vector<float> determinants; // at every second pixel; empty: none
};

/// Evaluates the images, labels and transforms of a registration at the pixels of slices, on the CPU.
template <int D>
class SliceSampler {
public:
  /// The run must outlive this.
  SliceSampler(const Registry&, const ShownRun<D>&);

  const std::vector<PictureSlice<D>>& slices() const { return slices_; }
  /// Of the fixed and the moving image.
  const std::array<GreyRange, 2>& greyRanges() const { return greyRanges_; }
  SliceValues valuesOf(const PictureSlice<D>&) const;

private:
  /// Empty for a transform without derivatives.
  std::vector<float> determinantsOf(Context& host, const ImageGeometry<D>& lattice) const;

  const ShownRun<D>& run_;
  bool isLinear_;
  std::vector<std::unique_ptr<Interpolator<D>>> fixed_, moving_; // one, or three for colours
  std::unique_ptr<Interpolator<D>> fixedLabels_, movingLabels_;
  std::array<GreyRange, 2> greyRanges_;
  std::vector<PictureSlice<D>> slices_;
};

}
