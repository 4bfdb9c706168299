// needs: GPU
#include "Components/Resamplers/Shared/InputSlices.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include "Core/Compute/Memory/DeviceMemory.h"

namespace tessera {
namespace {

using namespace testing;

constexpr const char* voxelInterpolators[] = {"linear", "nearest", "labels", "0", "1"};

/// With as few slices as will do, and with more.
template <int D>
void expectTheWholesBits(const std::string& word, const std::string& extrapolation)
{
  const ResampleScene<D> scene(perAxis<D>(std::size_t(43), -2), perAxis<D>(std::size_t(41), 7));
  const TransformChain<D> chain = letterChain<D>(word, scene.fixed);
  const ImageGeometry<D>& output = scene.fixed->geometry;
  const InputSlices<D> input(chain, scene.moving->geometry, output);
  Context host, cuda = makeContext({DeviceKind::cuda, 0}, 2);
  const DefaultResampler<D> resampler(parametersOf("(DefaultPixelValue " + std::to_string(outsideValue)
                                                       + ")\n(ResampleExtrapolation \"" + extrapolation
                                                       + "\")",
                                                   D, 1, ""));
  for (const std::string interpolator : voxelInterpolators) {
    const ImagePointer<D> moving = imageFor<D>(interpolator, scene.moving->geometry);
    const Resampling<D> whole{&chain, output, moving, nullptr, extrapolation};
    const std::vector<float> expected = whole.on(cuda, interpolator);
    for (const std::size_t atOnce :
         {input.maxAskedBy(1), input.maxAskedBy(1) + 2, scene.moving->geometry.size[D - 1]}) {
      const auto prepared = resampleInterpolator<D>(interpolator);
      prepared->prepareForLevel(host, moving, 0);
      const ResampleSource<D> source{prepared.get(), nullptr,
                                     std::make_shared<SliceWindowOnCuda<D>>(moving, atOnce)};
      EXPECT_EQ(resampledImage(resampler, cuda, chain, source, output).voxels, expected)
          << word << ", " << interpolator << ", " << extrapolation << ", " << atOnce << " slices at once";
    }
  }
}

using InputSlicesOnCuda = testing::GpuTest;

TEST_F(InputSlicesOnCuda, GiveTheBitsOfTheWholeImage)
{
  for (const std::string extrapolation : {"Constant", "Nearest"})
    for (const std::string word : {"T", "E", "S", "A", "B", "AB", "BA", "TABES"}) {
      expectTheWholesBits<2>(word, extrapolation);
      expectTheWholesBits<3>(word, extrapolation);
    }
}

TEST_F(InputSlicesOnCuda, KeepToTheMemoryThatIsThere)
{
  const ResampleScene<3> scene({30, 31, 32}, {200, 190, 180}); // 27 MB
  const TransformChain<3> chain = letterChain<3>("A", scene.fixed);
  const ImageGeometry<3>& output = scene.fixed->geometry;
  Context host;
  const DefaultResampler<3> resampler(parametersOf("", 3, 1, ""));
  const auto interpolator = resampleInterpolator<3>("linear");
  interpolator->prepareForLevel(cuda, scene.moving, 0);
  const Image<3> expected = resampledImage(resampler, cuda, chain, {interpolator.get(), nullptr}, output);
  interpolator->endLevel();
  interpolator->prepareForLevel(host, scene.moving, 0);
  constexpr double limitBytes = 12e6;

  const SlicesThatFit slices = resampler.slicesThatFit(chain, {interpolator.get(), nullptr, {}}, output,
                                                       PixelType::float32, limitBytes);
  ASSERT_GT(slices.atOnce, 0u) << slices.whyNot;
  EXPECT_LT(slices.atOnce, 180u);
  Context limited = makeContext({DeviceKind::cuda, 0}, 2, limitBytes);
  const Image<3> result = resampledImage(
      resampler, limited, chain,
      {interpolator.get(), nullptr, std::make_shared<SliceWindowOnCuda<3>>(scene.moving, slices.atOnce)},
      output);
  const double taken = takePeakDeviceMemory(limited);

  EXPECT_EQ(result.voxels, expected.voxels);
  EXPECT_LE(taken, limitBytes);
  EXPECT_GT(taken, limitBytes / 2);
}

TEST_F(InputSlicesOnCuda, AreRefusedWhereTheyDoNotHelp)
{
  const ResampleScene<2> scene({30, 31}, {200, 190});
  Context host;
  const auto whyNot = [&](const std::string& name, const std::string& word, const std::string& text,
                          double bytes) {
    const auto interpolator = resampleInterpolator<2>(name);
    interpolator->prepareForLevel(host, imageFor<2>(name, scene.moving->geometry), 0);
    const SlicesThatFit slices =
        DefaultResampler<2>(parametersOf(text, 2, 1, ""))
            .slicesThatFit(letterChain<2>(word, scene.fixed), {interpolator.get(), nullptr, {}},
                           scene.fixed->geometry, PixelType::float32, bytes);
    EXPECT_EQ(slices.atOnce, 0u) << slices.whyNot;
    return slices.whyNot;
  };

  EXPECT_EQ(whyNot("3", "A", "", 1e9), "the coefficients of splines are made of whole lines of it");
  EXPECT_EQ(whyNot("linear", "A", "(ResampleExtrapolation \"Mirror\")", 1e9),
            "any part of its mirror image may be asked for");
  EXPECT_EQ(whyNot("linear", "BB", "", 1e9), "where these transforms lead is not known beforehand");
  EXPECT_PRED2(contains, whyNot("linear", "A", "", 1e3), " of its 190 slices, 0 fit");
}

}
}
