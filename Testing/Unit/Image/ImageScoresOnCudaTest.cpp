// needs: GPU
#include "Core/Compute/Math/Random.h"
#include "Core/Image/Scores/ImageScores.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// Waves with noise, as grey values of a CT.
template <int D>
Image<D> scene(const Size<D>& size, std::uint32_t seed)
{
  Image<D> image;
  image.geometry.size = size;
  image.geometry.spacingMm.fill(1);
  for (std::uint32_t v = 0; v < image.geometry.voxelCount(); ++v) {
    const double x = static_cast<double>(v % size[0]), y = static_cast<double>(v / size[0] % size[1]);
    image.voxels.push_back(static_cast<float>(400 * std::sin(0.1 * x) * std::cos(0.07 * y) - 300
                                              + static_cast<double>(randomWords({}, v, seed)[0] % 200)));
  }
  return image;
}

template <int D>
void expectTheCpusScores(const Size<D>& size)
{
  Context cuda = makeContext({DeviceKind::cuda, 0}, 2), cpu{{}, 2};
  const Image<D> a = scene<D>(size, 1), b = scene<D>(size, 2);
  std::vector<std::uint8_t> mask;
  for (std::uint32_t v = 0; v < a.voxels.size(); ++v)
    mask.push_back(randomWords({}, v, 3)[0] % 3 != 0);
  for (const std::vector<std::uint8_t>& use : {std::vector<std::uint8_t>{}, mask}) {
    const ImageScores expected = imageScores<D>(cpu, a, b, use, 900),
                      found = imageScores<D>(cuda, a, b, use, 900);
    EXPECT_EQ(found.voxels, expected.voxels);
    EXPECT_NEAR(found.meanAbsoluteError, expected.meanAbsoluteError, 1e-9);
    EXPECT_NEAR(found.absoluteErrorDeviation, expected.absoluteErrorDeviation, 1e-8);
    EXPECT_NEAR(found.rootMeanSquareError, expected.rootMeanSquareError, 1e-9);
    ASSERT_TRUE(found.standardized && found.correlation && found.mutualInformation);
    EXPECT_NEAR(found.standardized->meanAbsoluteError, expected.standardized->meanAbsoluteError, 1e-10);
    EXPECT_NEAR(found.standardized->absoluteErrorDeviation, expected.standardized->absoluteErrorDeviation,
                1e-10);
    EXPECT_NEAR(found.standardized->sumOfSquaredErrors, expected.standardized->sumOfSquaredErrors,
                1e-9 * expected.standardized->sumOfSquaredErrors);
    EXPECT_NEAR(*found.correlation, *expected.correlation, 1e-11);
    EXPECT_NEAR(*found.mutualInformation, *expected.mutualInformation, 1e-12);
    ASSERT_EQ(found.structuralSimilarity.has_value(), expected.structuralSimilarity.has_value());
    EXPECT_NEAR(found.structuralSimilarity.value_or(0), expected.structuralSimilarity.value_or(0), 1e-11);
    EXPECT_EQ(found.structuralSimilarity, (imageScores<D>(cuda, a, b, use, 900).structuralSimilarity));
  }
}

TEST(ImageScoresOnCuda, ScoresAreTheCpus)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusScores<2>({71, 45});
  expectTheCpusScores<2>({11, 11});
  expectTheCpusScores<3>({75, 29, 53}); // several blocks along each axis, none of them whole
  expectTheCpusScores<3>({11, 11, 11});
}

TEST(ImageScoresOnCuda, WhatHasNoScoreOnTheCpuHasNone)
{
  TESSERA_NEEDS_GPU();
  Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  const Image<3> a = scene<3>({10, 30, 30}, 1);
  Image<3> constant = a;
  std::ranges::fill(constant.voxels, 7.0f);
  const ImageScores scores = imageScores<3>(cuda, a, constant, {}, 900);
  EXPECT_FALSE(scores.structuralSimilarity);
  EXPECT_FALSE(scores.standardized || scores.correlation || scores.mutualInformation);
  EXPECT_GT(scores.meanAbsoluteError, 0);
}

}
}
