// needs: GPU
#include "Components/ImageSamplers/FullSampler.h"
#include "Components/ImageSamplers/GridSampler.h"
#include "Components/ImageSamplers/RandomCoordinateSampler.h"
#include "Components/ImageSamplers/RandomSampler.h"
#include "Components/ImageSamplers/RandomSparseMaskSampler.h"

#include "Testing/Support/Checks/SamplerChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
PointList<D> toHost(const Context& context, const PointList<D>& samples)
{
  PointList<D> host;
  for (int d = 0; d < D; ++d)
    host.mm[d] = samples.onCuda->mm[d].toHost(context);
  host.fixed = samples.onCuda->fixed.toHost(context);
  return host;
}

/// A sampler on each device, for the first level.
template <int D, class Sampler>
struct OnBoth {
  Context cpu{{}, 2}, cuda = makeContext({DeviceKind::cuda, 0}, 2);
  Sampler onCpu, onCuda;

  OnBoth(const std::string& parameters, const ImagePointer<D>& fixed, const MaskPointer<D>& mask)
      : onCpu(parametersOf(parameters, D)), onCuda(parametersOf(parameters, D))
  {
    onCpu.prepareForLevel(cpu, fixed, mask, 0);
    onCuda.prepareForLevel(cuda, fixed, mask, 0);
  }

  PointList<D> drawnOnCuda(const Draw& draw)
  {
    onCuda.draw(cuda, draw);
    return toHost<D>(cuda, std::get<PointList<D>>(onCuda.samples()));
  }

  /// Bit for bit, at two iterations; a repeated draw repeats.
  void expectEqualDraws(Draw draw)
  {
    EXPECT_EQ(positionCount<D>(onCuda.samples()), positionCount<D>(onCpu.samples()));
    PointList<D> first;
    for (int i = 0; i < 2; ++i, ++draw.iteration) {
      onCpu.draw(cpu, draw);
      const PointList<D>& expected = std::get<PointList<D>>(onCpu.samples());
      const PointList<D> drawn = drawnOnCuda(draw);
      for (int d = 0; d < D; ++d)
        EXPECT_EQ(drawn.mm[d], expected.mm[d]) << "axis " << d;
      EXPECT_EQ(drawn.fixed, expected.fixed);
      if (i == 0)
        first = drawn;
    }
    draw.iteration -= 2;
    const PointList<D> again = drawnOnCuda(draw);
    EXPECT_EQ(again.mm, first.mm);
    EXPECT_EQ(again.fixed, first.fixed);
  }
};

template <class Sampler2, class Sampler3>
void expectEqualDrawsIn2DAnd3D(const std::string& parameters)
{
  for (const int count : {33, 2048, 20011}) {
    const std::string all = parameters + "\n(NumberOfSpatialSamples " + std::to_string(count) + ")";
    SCOPED_TRACE(all);
    const SamplerScene<3> volume({24, 21, 18});
    for (const MaskPointer<3>& mask : {MaskPointer<3>(), volume.ball, volume.coarseBall})
      OnBoth<3, Sampler3>(all, volume.fixed, mask).expectEqualDraws(volume.draw);
    const SamplerScene<2> slice({35, 28});
    for (const MaskPointer<2>& mask : {MaskPointer<2>(), slice.ball, slice.coarseBall})
      OnBoth<2, Sampler2>(all, slice.fixed, mask).expectEqualDraws(slice.draw);
  }
}

using SamplersOnCudaTest = testing::GpuTest;

TEST_F(SamplersOnCudaTest, RandomDrawsAsOnTheCpu)
{
  expectEqualDrawsIn2DAnd3D<RandomSampler<2>, RandomSampler<3>>("");
}

TEST_F(SamplersOnCudaTest, RandomSparseMaskDrawsAsOnTheCpu)
{
  expectEqualDrawsIn2DAnd3D<RandomSparseMaskSampler<2>, RandomSparseMaskSampler<3>>("");
}

TEST_F(SamplersOnCudaTest, RandomCoordinateDrawsAsOnTheCpu)
{
  for (const char* order : {"0", "1", "2", "3", "4", "5"})
    expectEqualDrawsIn2DAnd3D<RandomCoordinateSampler<2>, RandomCoordinateSampler<3>>(
        std::string("(FixedImageBSplineInterpolationOrder ") + order + ")");
}

TEST_F(SamplersOnCudaTest, OneSampleIsDrawnAsOnTheCpu)
{
  const SamplerScene<3> scene({24, 21, 18});
  OnBoth<3, RandomSampler<3>>("(NumberOfSpatialSamples 1)", scene.fixed, nullptr)
      .expectEqualDraws(scene.draw);
  OnBoth<3, RandomCoordinateSampler<3>>("(NumberOfSpatialSamples 1)", scene.fixed, nullptr)
      .expectEqualDraws(scene.draw);
}

TEST_F(SamplersOnCudaTest, ARandomRegionMovesAsOnTheCpuAndCanBeSwitchedOff)
{
  const SamplerScene<3> scene({24, 21, 18});
  OnBoth<3, RandomCoordinateSampler<3>> both(
      "(NumberOfSpatialSamples 700)\n(UseRandomSampleRegion \"true\")\n(SampleRegionSize 15 14 16)",
      scene.fixed, scene.ball);
  both.expectEqualDraws(scene.draw);
  EXPECT_TRUE(both.onCpu.setRandomRegion(false));
  EXPECT_TRUE(both.onCuda.setRandomRegion(false));
  both.expectEqualDraws(scene.draw);
}

/// Two corners of the image.
MaskPointer<3> thinMask(const ImageGeometry<3>& geometry)
{
  Mask<3> corners = drawMask<3>(geometry, [](const Vec<3>&) { return false; });
  corners.voxels.front() = corners.voxels.back() = 1;
  return std::make_shared<Mask<3>>(corners);
}

template <class Sampler>
void expectGivesUpAsOnTheCpu(const std::string& parameters)
{
  const SamplerScene<3> scene({24, 20, 18});
  OnBoth<3, Sampler> both(parameters, scene.fixed, thinMask(scene.fixed->geometry));

  const std::string expected =
      errorText([&] { both.onCpu.draw(both.cpu, scene.draw); }, ExitCode::registrationFailed);
  EXPECT_EQ(errorText([&] { both.onCuda.draw(both.cuda, scene.draw); }, ExitCode::registrationFailed),
            expected);
  both.onCpu.prepareForLevel(both.cpu, scene.fixed, scene.ball, 0); // and may be asked again
  both.onCuda.prepareForLevel(both.cuda, scene.fixed, scene.ball, 0);
  EXPECT_EQ(messageOf([&] { both.onCuda.draw(both.cuda, scene.draw); }),
            messageOf([&] { both.onCpu.draw(both.cpu, scene.draw); }));
}

TEST_F(SamplersOnCudaTest, AMaskThatIsTooThinForItsBoxGivesUp)
{
  for (const char* parameters :
       {"(NumberOfSpatialSamples 1)", "(NumberOfSpatialSamples 100)", "(NumberOfSpatialSamples 300000)"}) {
    SCOPED_TRACE(parameters);
    expectGivesUpAsOnTheCpu<RandomSampler<3>>(parameters);
    expectGivesUpAsOnTheCpu<RandomCoordinateSampler<3>>(parameters);
  }
}

TEST_F(SamplersOnCudaTest, TheSparseSamplerFindsEveryVoxelOfAThinMask)
{
  const SamplerScene<3> scene({24, 20, 18});
  OnBoth<3, RandomSparseMaskSampler<3>>("(NumberOfSpatialSamples 500)", scene.fixed,
                                        thinMask(scene.fixed->geometry))
      .expectEqualDraws(scene.draw);
}

TEST_F(SamplersOnCudaTest, FullAndGridGiveTheLatticeOfTheCpu)
{
  const SamplerScene<3> scene({24, 21, 18});
  const auto expectSameLattice = [&](auto&& both) {
    both.onCpu.draw(both.cpu, scene.draw);
    both.onCuda.draw(both.cuda, scene.draw);
    const auto& expected = std::get<VoxelLattice<3>>(both.onCpu.samples());
    const auto& lattice = std::get<VoxelLattice<3>>(both.onCuda.samples());
    EXPECT_EQ(lattice.first, expected.first);
    EXPECT_EQ(lattice.step, expected.step);
    EXPECT_EQ(lattice.count, expected.count);
  };
  expectSameLattice(OnBoth<3, FullSampler<3>>("", scene.fixed, scene.ball));
  expectSameLattice(OnBoth<3, GridSampler<3>>("(SampleGridSpacing 3)", scene.fixed, scene.ball));
}

}
}
