// on: CPU, GPU
#include "Core/Image/Voxels/PixelRounding.h"

#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"

#include <cstring>
#include <iterator>

namespace tessera {
namespace {

using namespace testing;

/// One image for each pixel type, resampled at once: pixels are what rounding makes of the floats, whole and
/// by slices. Intensities are fractions, negative ones too, and beyond the range of short; voxels of the
/// result are `finer` times as close as the image's.
void expectRoundedFloats(Context& context, std::size_t finer)
{
  TermScene<3> scene(1, {27, 22, 17});
  scene.useAffine();
  Image<3> moving = *imageFor<3>("linear", scene.moving->geometry);
  for (float& voxel : moving.voxels)
    voxel = 311.7f * voxel - 33000;
  ImageGeometry<3> output = scene.fixed->geometry;
  for (int d = 0; d < 3; ++d) {
    output.spacingMm[d] /= static_cast<double>(finer);
    output.size[d] *= finer;
  }
  const auto interpolator = resampleInterpolator<3>("linear");
  interpolator->prepareForLevel(context, std::make_shared<Image<3>>(std::move(moving)), 0);
  const ResampleSource<3> source{interpolator.get(), nullptr};
  const std::vector<ResampleSource<3>> sources(std::size(allPixelTypes), source);
  const DefaultResampler<3> resampler(parametersOf("(DefaultPixelValue 40.5)", 3, 1, ""));

  for (const SliceRange& slices : {SliceRange{}, SliceRange{3, 5}}) {
    const Image<3> floats =
        resampledImages(resampler, context, *scene.chain, std::span(&source, 1), output, slices).front();
    const auto pixels =
        resampler.resamplePixels(context, *scene.chain, sources, output, allPixelTypes, slices);

    ASSERT_EQ(pixels.size(), sources.size());
    for (std::size_t t = 0; t < pixels.size(); ++t) {
      std::vector<std::byte> expected(floats.voxels.size() * pixelTypeSize(allPixelTypes[t]));
      toPixels(floats.voxels, allPixelTypes[t], expected.data());
      EXPECT_EQ(std::memcmp(pixels[t].get(), expected.data(), expected.size()), 0)
          << pixelTypeName(allPixelTypes[t]);
    }
  }
}

using ResultPixels = DeviceTest;

TEST_F(ResultPixels, AreTheRoundedFloats)
{
  for (const int threads : {1, 3}) {
    Context ofThreads = contextUnderTest(threads);
    expectRoundedFloats(ofThreads, 1);
  }
  if (context.onCuda()) // in several chunks that are copied while others are computed
    expectRoundedFloats(context, 8);
}

TEST_F(ResultPixels, ValuesThatRoundToNoNumberOfTheTypeAreClampedAndCounted)
{
  const std::vector<float> values{
      -0.5f, -0.51f, 0, 255.49f, 255.5f, 70000, std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::byte> pixels(values.size() * sizeof(double));
  EXPECT_EQ(toPixels(values, PixelType::uint8, pixels.data()), 3u);
  EXPECT_EQ(toPixels(values, PixelType::int16, pixels.data()), 1u);
  EXPECT_EQ(toPixels(values, PixelType::int8, pixels.data()), 3u);
  EXPECT_EQ(toPixels(values, PixelType::uint64, pixels.data()), 1u);
  EXPECT_EQ(toPixels(values, PixelType::float64, pixels.data()), 0u);
}

}
}
