#include "Components/Resamplers/Shared/InputSlices.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

constexpr const char* voxelInterpolators[] = {"linear", "nearest", "labels", "0", "1"};

/// An image of which only some slices have their values: what is made of others is no number.
template <int D>
struct PartOfImage {
  std::vector<float> voxels;
  std::vector<std::uint8_t> finite; // of those slices
  SliceRange range;
  std::size_t ofSlice;

  PartOfImage(const Image<D>& whole, const MaskPointer<D>& valid, const SliceRange& slices)
      : voxels(whole.voxels.size(), std::numeric_limits<float>::quiet_NaN()), range(slices),
        ofSlice(whole.voxels.size() / whole.geometry.size[D - 1])
  {
    for (std::size_t i = range.first * ofSlice; i < (range.first + range.count) * ofSlice; ++i) {
      voxels[i] = whole.voxels[i];
      finite.push_back(valid ? valid->voxels[i] : 1);
    }
  }

  ImageSlices<D> slices(const ImageGeometry<D>& geometry) const
  {
    return {geometry, range.first, range.count, voxels.data() + range.first * ofSlice};
  }
  MaskPointer<D> mask(const ImageGeometry<D>& geometry) const
  {
    const auto mask = std::make_shared<Mask<D>>(geometry, finite);
    mask->firstVoxel = range.first * ofSlice;
    return mask;
  }
};

/// Each slab of the result from no more than the slices that it asks for.
template <int D>
void expectTheWholesBits(const Resampling<D>& whole, const std::string& name, const std::string& what)
{
  const DefaultResampler<D> resampler(parametersOf("(DefaultPixelValue " + std::to_string(outsideValue)
                                                       + ")\n(ResampleExtrapolation \"" + whole.extrapolation
                                                       + "\")",
                                                   D, 1, ""));
  const auto interpolator = resampleInterpolator<D>(name);
  const ImageGeometry<D>& moving = whole.moving->geometry;
  const SlicesAskedFor asked = resampler.slicesAskedFor(*whole.chain, *interpolator, moving, whole.output);
  ASSERT_TRUE(asked.by) << asked.whyNot;
  const std::vector<float> expected = whole.on({}, name);
  const std::size_t all = whole.output.size[D - 1], ofSlice = expected.size() / all;
  Context context{{}, 2};
  for (const std::size_t count : {1, 4}) {
    std::vector<float> values;
    for (std::size_t first = 0; first < all; first += count) {
      const SliceRange slab{first, std::min(count, all - first)};
      const PartOfImage<D> part(*whole.moving, whole.valid, asked.by(slab));
      interpolator->prepareForSlices(part.slices(moving));
      const ResampleSource<D> source{interpolator.get(), whole.valid ? part.mask(moving) : nullptr};
      const std::vector<float> pixels =
          resampledImages(resampler, context, *whole.chain, std::span(&source, 1), whole.output, slab)[0]
              .voxels;
      EXPECT_EQ(pixels.size(), slab.count * ofSlice);
      values.insert(values.end(), pixels.begin(), pixels.end());
    }
    EXPECT_EQ(values == expected, true) << what << ", slabs of " << count; // bit for bit, and no NaN
  }
}

template <int D>
void expectTheWholesBitsOfEveryChain()
{
  const ResampleScene<D> scene(perAxis<D>(std::size_t(13), -2), perAxis<D>(std::size_t(11), 7));
  for (const std::string word : {"T", "A", "B", "TABES"}) {
    const TransformChain<D> chain = letterChain<D>(word, scene.fixed);
    for (const std::string name : voxelInterpolators) {
      const ImagePointer<D> moving = imageFor<D>(name, scene.moving->geometry);
      std::vector<std::uint8_t> finite(moving->voxels.size());
      for (std::size_t i = 0; i < finite.size(); ++i)
        finite[i] = i % 5 != 2;
      const auto valid = std::make_shared<const Mask<D>>(moving->geometry, finite);
      for (const std::string extrapolation : {"Constant", "Nearest"})
        for (const MaskPointer<D>& mask : {MaskPointer<D>(), valid})
          expectTheWholesBits<D>({&chain, scene.fixed->geometry, moving, mask, extrapolation}, name,
                                 word + ", " + name + ", " + extrapolation + (mask ? ", mask" : ""));
    }
  }
}

TEST(SlicesOfImage, GiveTheBitsOfTheWholeImage)
{
  expectTheWholesBitsOfEveryChain<2>();
  expectTheWholesBitsOfEveryChain<3>();
}

/// Grids whose voxels lie on voxels, midway between them, and on the border of what is inside; from either
/// end.
TEST(SlicesOfImage, GiveTheBitsOfTheWholeImageWhereRoundingsDecide)
{
  ImageGeometry<3> moving;
  moving.size = {5, 6, 9};
  moving.spacingMm.fill(0.7);
  for (const double direction : {1.0, -1.0})
    for (const double offset : {0.0, 0.5, -0.5, 1.0, -3.0, 4.0}) {
      ImageGeometry<3> output = moving;
      output.size = {6, 7, 12};
      output.direction[2][2] = direction;
      for (int d = 0; d < 3; ++d)
        output.originMm[d] = 0.7 * offset;
      output.originMm[2] += direction < 0 ? 0.7 * 8 : 0;
      const auto fixed = std::make_shared<Image<3>>(noiseImage<3>(output, 1));
      TransformChain<3> chain = letterChain<3>("T", fixed);
      std::fill(chain.parameters.begin(), chain.parameters.end(), 0.0);
      for (const std::string name : voxelInterpolators)
        for (const std::string extrapolation : {"Constant", "Nearest"})
          expectTheWholesBits<3>({&chain, output, imageFor<3>(name, moving), nullptr, extrapolation}, name,
                                 name + ", " + extrapolation + ", offset " + std::to_string(offset));
    }
}

TEST(SlicesOfImage, AreAllOfThemWhereAxesChangePlaces)
{
  const auto fixed = std::make_shared<Image<3>>(noiseImage<3>(centredGeometry<3>({9, 9, 9}, {1, 1, 1}), 1));
  ImageGeometry<3> moving = fixed->geometry;
  moving.direction = {{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}};
  moving.originMm = {-4, -4, -4};
  TransformChain<3> chain = letterChain<3>("T", fixed);
  std::fill(chain.parameters.begin(), chain.parameters.end(), 0.0);
  const auto interpolator = resampleInterpolator<3>("linear");

  const SlicesAskedFor asked = DefaultResampler<3>(parametersOf("", 3, 1, ""))
                                   .slicesAskedFor(chain, *interpolator, moving, fixed->geometry);

  ASSERT_TRUE(asked.by);
  EXPECT_EQ(asked.by({3, 1}).count, 9u);
}

TEST(SlicesOfImage, AreNotKnownOfCoefficientsMirrorsAndSomeChains)
{
  const ResampleScene<2> scene({20, 20}, {20, 20});
  const auto whyNot = [&](const std::string& name, const std::string& word, const std::string& text) {
    const SlicesAskedFor asked =
        DefaultResampler<2>(parametersOf(text, 2, 1, ""))
            .slicesAskedFor(letterChain<2>(word, scene.fixed), *resampleInterpolator<2>(name),
                            scene.moving->geometry, scene.fixed->geometry);
    EXPECT_FALSE(asked.by);
    return asked.whyNot;
  };

  EXPECT_EQ(whyNot("2", "A", ""), "the coefficients of splines are made of whole lines of it");
  EXPECT_EQ(whyNot("3", "A", ""), "the coefficients of splines are made of whole lines of it");
  EXPECT_EQ(whyNot("linear", "A", "(ResampleExtrapolation \"Mirror\")"),
            "any part of its mirror image may be asked for");
  EXPECT_EQ(whyNot("linear", "BB", ""), "where these transforms lead is not known beforehand");
}

/// Coefficients are not made of an image that a device has no room for.
TEST(SlicesOfImage, AreNotKnownOfSplinesThatWereNotPreparedForIt)
{
  const ResampleScene<2> scene({20, 20}, {20, 20});

  const auto spline = resampleInterpolator<2>("3");
  const SlicesThatFit slices =
      DefaultResampler<2>(parametersOf("", 2, 1, ""))
          .slicesThatFit(letterChain<2>("A", scene.fixed), {spline.get(), nullptr, {}}, scene.fixed->geometry,
                         PixelType::float32, 1e9);

  EXPECT_EQ(slices.atOnce, 0u);
  EXPECT_EQ(slices.whyNot, "the coefficients of splines are made of whole lines of it");
}

}
}
