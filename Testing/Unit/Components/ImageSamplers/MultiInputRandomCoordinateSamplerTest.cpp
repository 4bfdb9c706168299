#include "Components/ImageSamplers/MultiInputRandomCoordinateSampler.h"

#include "Testing/Support/Checks/SamplerChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

constexpr const char* manySamples = "(NumberOfSpatialSamples 3000)";

template <int D>
PointList<D> drawnBeside(const SamplerScene<D>& scene, const std::vector<SampledImage<D>>& others)
{
  MultiInputRandomCoordinateSampler<D> sampler(parametersOf(manySamples, D, 1, "ImageSampler0"));
  sampler.setOtherImages(others);
  sampler.prepareForLevel(host, scene.fixed, nullptr, 0);
  return drawn<D>(sampler, scene.draw);
}

/// An image along the axes of the scene's, of other spacing, that begins at an index of it.
template <int D>
SampledImage<D> imageFrom(const SamplerScene<D>& scene, const Vec<D>& index, double spacing)
{
  Image<D> image{scene.fixed->geometry, {}};
  image.geometry.originMm = scene.fixed->geometry.pointFromIndex()(index);
  for (double& axis : image.geometry.spacingMm)
    axis *= spacing;
  image.voxels.resize(image.geometry.voxelCount());
  auto pointer = std::make_shared<const Image<D>>(std::move(image));
  return {pointer, wholeBox<D>(pointer->geometry), nullptr};
}

TEST(MultiInputRandomCoordinateSamplerTest, TheRandomRegionIsNotSwitchedOff)
{
  const SamplerScene<2> scene({40, 36});
  MultiInputRandomCoordinateSampler<2> sampler(
      parametersOf("(UseRandomSampleRegion \"true\")", 2, 1, "ImageSampler0"));
  sampler.prepareForLevel(host, scene.fixed, nullptr, 0);
  const PointList<2> inRegion = drawn<2>(sampler, scene.draw);

  EXPECT_FALSE(sampler.setRandomRegion(false));
  EXPECT_EQ(drawn<2>(sampler, scene.draw).mm, inRegion.mm);
}

TEST(MultiInputRandomCoordinateSamplerTest, WithOneImageItIsRandomCoordinate)
{
  const SamplerScene<3> scene({24, 20, 18});
  RandomCoordinateSampler<3> single(parametersOf(manySamples, 3, 1, "ImageSampler0"));
  single.prepareForLevel(host, scene.fixed, nullptr, 0);

  const PointList<3> found = drawnBeside<3>(scene, {}), expected = drawn<3>(single, scene.draw);

  EXPECT_EQ(found.mm, expected.mm);
  EXPECT_EQ(found.fixed, expected.fixed);
}

TEST(MultiInputRandomCoordinateSamplerTest, DrawsFromTheCommonBoxUniformly)
{
  const SamplerScene<2> scene({40, 36});
  // from 10.5 to 10.5 + 0.5 * 39 = 30 along x, and from -3 to -3 + 0.5 * 35 = 14.5 along y
  const PointList<2> samples = drawnBeside<2>(scene, {imageFrom<2>(scene, {10.5, -3}, 0.5)});

  expectSamplesOfTheImage<2>(samples, *scene.fixed, nullptr);
  Vec<2> lowest{1e9, 1e9}, highest{-1e9, -1e9}, sum{};
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    const Vec<2> index = indexOfSample<2>(scene.fixed->geometry, samples, i);
    for (int d = 0; d < 2; ++d) {
      lowest[d] = std::min(lowest[d], index[d]);
      highest[d] = std::max(highest[d], index[d]);
      sum[d] += index[d] / 3000;
    }
  }
  const Vec<2> first{10.5, 0}, last{30, 14.5};
  for (int d = 0; d < 2; ++d) {
    const double length = last[d] - first[d];
    EXPECT_GE(lowest[d], first[d] - 1e-9);
    EXPECT_LE(highest[d], last[d] + 1e-9);
    // 20 times the mean gap between 3000 points; five standard deviations of their mean
    EXPECT_NEAR(lowest[d], first[d], length / 150);
    EXPECT_NEAR(highest[d], last[d], length / 150);
    EXPECT_NEAR(sum[d], (first[d] + last[d]) / 2, 5 * length / std::sqrt(12.0 * 3000));
  }
}

TEST(MultiInputRandomCoordinateSamplerTest, DrawsInsideAllMasks)
{
  const SamplerScene<3> scene({24, 20, 18});
  const SampledImage<3> own{scene.fixed, wholeBox<3>(scene.fixed->geometry), scene.ball};
  SampledImage<3> other = imageFrom<3>(scene, {6, 5, 4}, 0.7);
  other.mask = scene.coarseBall;

  const PointList<3> samples = drawnBeside<3>(scene, {own, other});

  expectSamplesOfTheImage<3>(samples, *scene.fixed, scene.ball.get());
  expectSamplesOfTheImage<3>(samples, *scene.fixed, scene.coarseBall.get());
}

TEST(MultiInputRandomCoordinateSamplerTest, RefusesImagesWithoutACommonBox)
{
  const SamplerScene<2> scene({40, 36});
  SampledImage<2> turned = imageFrom<2>(scene, {0, 0}, 1);
  Image<2> copy = *turned.image;
  std::swap(copy.geometry.direction[0], copy.geometry.direction[1]);
  turned.image = std::make_shared<const Image<2>>(copy);

  EXPECT_PRED2(contains, errorText([&] { drawnBeside<2>(scene, {turned}); }), "directions differ");
  EXPECT_PRED2(contains, errorText([&] {
                 drawnBeside<2>(scene, {imageFrom<2>(scene, {50, 0}, 1)});
               }),
               "do not overlap");
}

}
}
