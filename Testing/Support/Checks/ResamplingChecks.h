#pragma once

// Resamplings of noise by one device and another.

#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Interpolators/LabelMajorityInterpolator.h"
#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Components/Resamplers/DefaultResampler.h"
#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {

constexpr float outsideValue = -4096; // no interpolated value is the same

/// The values of (ResampleInterpolator ...), and orders of B-splines.
inline const std::vector<std::string> resampleInterpolators{"nearest", "linear", "labels", "0", "1",
                                                            "2",       "3",      "4",      "5"};

/// Whether a small error of an index can change values by more than that.
inline bool jumps(const std::string& name)
{
  return name == "nearest" || name == "labels" || name == "0";
}

template <int D>
std::unique_ptr<Interpolator<D>> resampleInterpolator(const std::string& name)
{
  const auto with = [](const std::string& text) { return parametersOf(text, D, 1, ""); };
  if (name == "nearest")
    return std::make_unique<NearestNeighborInterpolator<D>>(with(""), InterpolatorUse::resampling);
  if (name == "linear")
    return std::make_unique<LinearInterpolator<D>>(with(""), InterpolatorUse::resampling);
  if (name == "labels")
    return std::make_unique<LabelMajorityInterpolator<D>>(with(""));
  return std::make_unique<BSplineInterpolator<D>>(with("(FinalBSplineInterpolationOrder " + name + ")"),
                                                  InterpolatorUse::resampling);
}

/// Noise for intensities; for labels blobs of a few voxels and single ones.
template <int D>
ImagePointer<D> imageFor(const std::string& interpolator, const ImageGeometry<D>& geometry)
{
  Image<D> image = noiseImage<D>(geometry, 7);
  if (interpolator == "labels")
    for (float& voxel : image.voxels)
      voxel = voxel < 85 ? 1 : voxel < 140 ? 2 : 7;
  return std::make_shared<Image<D>>(std::move(image));
}

/// How an image is brought to a grid.
template <int D>
struct Resampling {
  const TransformChain<D>* chain = nullptr;
  ImageGeometry<D> output;
  ImagePointer<D> moving;
  MaskPointer<D> valid;
  std::string extrapolation = "Constant";

  std::vector<float> on(Context context, const std::string& interpolator, const SliceRange& slices = {}) const
  {
    const auto prepared = resampleInterpolator<D>(interpolator);
    prepared->prepareForLevel(context, moving, 0);
    const DefaultResampler<D> resampler(parametersOf("(DefaultPixelValue " + std::to_string(outsideValue)
                                                         + ")\n(ResampleExtrapolation \"" + extrapolation
                                                         + "\")",
                                                     D, 1, ""));
    const ResampleSource<D> source{prepared.get(), valid};
    return resampledImages(resampler, context, *chain, std::span(&source, 1), output, slices)[0].voxels;
  }
};

/// The same voxels are outside; where values may jump they are equal, elsewhere near: roundings of indices
/// and of sums in single precision against double, among noise whose neighbours differ by as much as its
/// range.
inline void expectSameImage(const std::vector<float>& values, const std::vector<float>& expected,
                            const std::string& interpolator, const std::string& what)
{
  ASSERT_EQ(values.size(), expected.size()) << what;
  std::size_t otherSide = 0, jumped = 0, inside = 0;
  double squares = 0, largest = 0, low = 1e30, high = -1e30;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == outsideValue || expected[i] == outsideValue) {
      otherSide += values[i] != expected[i];
      continue;
    }
    ++inside;
    jumped += values[i] != expected[i];
    const double difference = std::abs(static_cast<double>(values[i]) - expected[i]);
    squares += difference * difference;
    largest = difference > largest || !(difference == difference) ? difference : largest;
    low = std::min<double>(low, expected[i]);
    high = std::max<double>(high, expected[i]);
  }
  EXPECT_EQ(otherSide, 0u) << what << ", " << interpolator << ": voxels inside on one device alone, of "
                           << values.size();
  if (jumps(interpolator)) {
    EXPECT_EQ(jumped, 0u) << what << ", " << interpolator << ": of " << inside;
  } else if (inside > 0) {
    const double range = high - low;
    EXPECT_LE(std::sqrt(squares / static_cast<double>(inside)), 1e-5 * range) << what << ", " << interpolator;
    EXPECT_LE(largest, 1e-4 * range) << what << ", " << interpolator;
  }
}

}
