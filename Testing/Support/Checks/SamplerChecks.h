#pragma once

// A fixed image with a mask, and checks that every sampler must pass.

#include "Core/Registration/ImageSampler.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace tessera::testing {

/// f(index) = 1 + 2 x + 30 y + 400 z: linear interpolation gives it exactly.
template <int D>
double ramp(const Vec<D>& index)
{
  double value = 1, factor = 2;
  for (int d = 0; d < D; ++d, factor *= d == 1 ? 15 : 40.0 / 3)
    value += factor * index[d];
  return value;
}

template <int D>
struct SamplerScene {
  ImagePointer<D> fixed;
  MaskPointer<D> ball;       // on the image's grid
  MaskPointer<D> coarseBall; // on another grid
  Draw draw{7, 0, 0, 3};

  explicit SamplerScene(const Size<D>& size)
  {
    const ImageGeometry<D> geometry = obliqueGeometry<D>(size);
    Image<D> image{geometry, std::vector<float>(geometry.voxelCount())};
    forEachIndex<D>(size, [&](const Vec<D>& index, std::size_t offset) {
      image.voxels[offset] = static_cast<float>(ramp<D>(index));
    });
    fixed = std::make_shared<Image<D>>(std::move(image));

    double radiusMm = 1e9;
    for (int d = 0; d < D; ++d)
      radiusMm = std::min(radiusMm, 0.35 * static_cast<double>(size[d]) * geometry.spacingMm[d]);
    Vec<D> radiiMm;
    radiiMm.fill(radiusMm);
    const auto inside = [&, radiiMm](const Vec<D>& p) {
      return Ellipsoid<D>{geometry.centerMm(), radiiMm}(p) > 0;
    };
    ball = std::make_shared<Mask<D>>(drawMask<D>(geometry, inside));
    Size<D> coarseSize;
    Vec<D> coarseSpacingMm;
    for (int d = 0; d < D; ++d) {
      coarseSize[d] = size[d] / 2 + 9;
      coarseSpacingMm[d] = 2.3 * geometry.spacingMm[d];
    }
    ImageGeometry<D> coarse = centredGeometry<D>(coarseSize, coarseSpacingMm);
    for (int d = 0; d < D; ++d)
      coarse.originMm[d] += geometry.centerMm()[d];
    coarseBall = std::make_shared<Mask<D>>(drawMask<D>(coarse, inside));
  }
};

template <int D>
PointList<D> drawn(ImageSampler<D>& sampler, const Draw& draw, int threads = 1)
{
  Context context{{}, threads};
  sampler.draw(context, draw);
  return allSamples<D>(sampler.samples());
}

template <int D>
Vec<D> indexOfSample(const ImageGeometry<D>& geometry, const PointList<D>& samples, std::size_t i)
{
  Vec<D> pointMm;
  for (int d = 0; d < D; ++d)
    pointMm[d] = samples.mm[d][i];
  return geometry.indexFromPoint()(pointMm);
}

/// Every sample lies in the mask (null: in the image) and has the image's value; the share of samples in a
/// half is right.
template <int D>
void expectSamplesOfTheImage(const PointList<D>& samples, const Image<D>& image, const Mask<D>* mask)
{
  const double largest = *std::max_element(image.voxels.begin(), image.voxels.end());
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    const Vec<D> index = indexOfSample<D>(image.geometry, samples, i);
    Vec<D> pointMm;
    for (int d = 0; d < D; ++d) {
      pointMm[d] = samples.mm[d][i];
      ASSERT_GE(index[d], -1e-9);
      ASSERT_LE(index[d], static_cast<double>(image.geometry.size[d]) - 1 + 1e-9);
    }
    ASSERT_TRUE(!mask || mask->contains(pointMm)) << "sample " << i;
    ASSERT_NEAR(samples.fixed[i], ramp<D>(index), 1e-6 * largest)
        << "sample " << i; // voxels and result are floats
  }
}

/// The same for any thread count and for a repeated draw; other numbers for another iteration; more samples
/// only add to them.
template <int D, class Sampler>
void expectRepeatableDraws(const SamplerScene<D>& scene, const MaskPointer<D>& mask)
{
  const auto make = [&](std::size_t count) {
    auto sampler =
        std::make_unique<Sampler>(parametersOf("(NumberOfSpatialSamples " + std::to_string(count) + ")", D));
    sampler->prepareForLevel(host, scene.fixed, mask, 0);
    return sampler;
  };
  auto sampler = make(1001);
  const PointList<D> first = drawn<D>(*sampler, scene.draw);
  Draw next = scene.draw;
  ++next.iteration;

  EXPECT_TRUE(sampler->isRandom());
  EXPECT_EQ(first.positions(), 1001u);
  EXPECT_NE(drawn<D>(*sampler, next, 2).mm, first.mm);
  EXPECT_EQ(drawn<D>(*sampler, scene.draw, 3).mm, first.mm);
  EXPECT_EQ(drawn<D>(*sampler, scene.draw, 2).fixed, first.fixed);
  const PointList<D> more = drawn<D>(*make(1500), scene.draw, 2);
  EXPECT_TRUE(std::equal(first.mm[0].begin(), first.mm[0].end(), more.mm[0].begin()));
}

}
