#pragma once

#include "Core/Image/Pictures/PictureSlices.h"
#include "Core/Runs/Report/SlicePictures.h"

#include <array>
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
  std::vector<std::uint32_t> boxes;  // of the grid in the moving image; the same number: the same box
  std::vector<float> displacementMm; // at every second pixel
  std::vector<int> fixedLabels, warpedLabels, fixedMask, maskBefore, warpedMask; // empty: none
  std::vector<float> determinants; // at every second pixel; empty: none
};

template <int D>
struct SampledSlices {
  std::vector<PictureSlice<D>> slices;
  std::vector<SliceValues> values;     // of each slice
  std::array<GreyRange, 2> greyRanges; // of the fixed and the moving image
  double gridMm = 0;                   // sides of the boxes
};

/// The images, labels, masks and transforms of a registration at the pixels of slices, on the CPU.
template <int D>
SampledSlices<D> sampledSlices(const Context&, const Registry&, const ShownRun<D>&);

}
