#pragma once

#include "Core/Image/Pictures/PictureParts.h"
#include "Core/Image/Pictures/PictureSlices.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Runs/Report/SlicePictures.h"

#include <array>
#include <memory>
#include <vector>

namespace tessera {

constexpr std::size_t pixelsOfMap = 2; // maps are smooth: one value for so many pixels along each axis

/// The values of a slice, from which its colours are computed later.
struct SliceValues {
  Panel fixed;
  std::vector<std::uint8_t> fixedGrey, beforeGrey, warpedGrey;
  std::array<std::vector<float>, 2> movingMm; // along the picture's axes
  std::vector<float> displacementMm;          // at every second pixel
  std::vector<int> fixedLabels, warpedLabels;
  std::vector<float> determinants; // at every second pixel; empty: none
};

/// Evaluates the images, labels and transforms of a registration at the pixels of slices, on the CPU.
template <int D>
class SliceSampler {
public:
  /// The run must outlive this.
  SliceSampler(const Registry&, const ShownRun<D>&);

  const std::vector<PictureSlice<D>>& slices() const { return slices_; }
  const std::array<GreyRange, 2>& greyRanges() const
  {
    return greyRanges_;
  } // of the fixed and the moving image
  SliceValues valuesOf(const PictureSlice<D>&) const;

private:
  /// Empty for a transform without derivatives.
  std::vector<float> determinantsOf(Context& host, const ImageGeometry<D>& lattice) const;

  const ShownRun<D>& run_;
  bool isLinear_;
  std::unique_ptr<Interpolator<D>> fixed_, moving_, fixedLabels_, movingLabels_;
  std::array<GreyRange, 2> greyRanges_;
  std::vector<PictureSlice<D>> slices_;
};

}
