// needs: GPU
#include "Core/Registration/Stage/ResamplingMemory.h"

#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/ModelTransforms.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <string>
#include <vector>

namespace tessera {
namespace {

using namespace testing;

/// A chain whose resampling takes memory of its own on a CUDA device.
struct ResamplingCase {
  std::string name;
  TransformChain<3> chain;
};

/// Every way of the kernels onto the grid of `fixed`: one map, a B-spline, points, few landmarks, a field of
/// many landmarks, an inverse.
std::vector<ResamplingCase> resamplingCases(const ImagePointer<3>& fixed)
{
  std::vector<ResamplingCase> cases;
  for (const std::string word : {"A", "AB", "BB"})
    cases.push_back({word, letterChain<3>(word, fixed)});
  const auto voxels = static_cast<double>(fixed->geometry.voxelCount());
  for (const auto& [name, pairs] :
       {std::pair{"few landmarks", 20.0}, std::pair{"many landmarks", 1.1e9 / voxels}})
    cases.push_back(
        {name, splineOf<3>("ThinPlateSpline",
                           scatteredLandmarks<3>(fixed->geometry, static_cast<std::size_t>(pairs), 2))});
  const auto inverted = std::make_shared<const TransformChain<3>>(letterChain<3>("B", fixed));
  cases.push_back({"inverse", *inverseChain<3>(inverted, allComponents(), fixed->geometry, 1e-3)});
  return cases;
}

struct Asked {
  std::string interpolator;
  PixelType type = PixelType::float32;
  std::size_t components = 1;
  bool hasInvalidVoxels = false;
  double dependsOnNumbers = 0; // bytes that only some transforms of this kind take
};

/// A device that has just what was counted is enough, and no count is a tenth above what is taken.
void expectAsCounted(const ResamplingCase& resampling, const ResampleScene<3>& scene, const Asked& asked)
{
  const ImageGeometry<3>&output = scene.fixed->geometry, &moving = scene.moving->geometry;
  const DefaultResampler<3> resampler(parametersOf("", 3, 1, ""));
  std::vector<std::unique_ptr<Interpolator<3>>> made;
  std::vector<Interpolator<3>*> interpolators;
  for (std::size_t c = 0; c < asked.components; ++c)
    interpolators.push_back(made.emplace_back(resampleInterpolator<3>(asked.interpolator)).get());
  const DeviceMemory counted =
      memoryOfResampling<3>(resampler, resampling.chain,
                            {interpolators, moving, asked.hasInvalidVoxels, false, asked.type}, output);
  constexpr double rounding = 1e6; // bytes, of the sizes of allocations
  Context cuda = makeContext({DeviceKind::cuda, 0}, 2, counted.bytes() + rounding);
  const MaskPointer<3> valid =
      asked.hasInvalidVoxels
          ? std::make_shared<Mask<3>>(moving, std::vector<std::uint8_t>(moving.voxelCount(), 1))
          : nullptr;
  const std::vector<PixelType> types(asked.components, asked.type);

  takePeakDeviceMemory(cuda);
  std::vector<ResampleSource<3>> sources;
  for (Interpolator<3>* interpolator : interpolators) {
    interpolator->prepareForLevel(cuda, std::make_shared<Image<3>>(*scene.moving), 0);
    sources.push_back({interpolator, valid, {}});
  }
  resampler.resamplePixels(cuda, resampling.chain, sources, output, types);
  const double taken = takePeakDeviceMemory(cuda);

  const std::string what = resampling.name + ", " + asked.interpolator + ": " + counted.text();
  EXPECT_LE(taken, counted.bytes() + rounding) << what;
  EXPECT_GE(1.1 * taken + rounding + asked.dependsOnNumbers, counted.bytes()) << what;
}

void expectAllAsCounted(const Size<3>& fixedSize, const Size<3>& movingSize)
{
  const ResampleScene<3> scene(fixedSize, movingSize);
  constexpr double cells = 55e6; // of the second search for roots
  for (const ResamplingCase& resampling : resamplingCases(scene.fixed)) {
    const double ofNumbers = resampling.name == "inverse" ? cells : 0;
    expectAsCounted(resampling, scene, {"linear", PixelType::float32, 1, false, ofNumbers});
    expectAsCounted(resampling, scene, {"linear", PixelType::int16, 3, true, ofNumbers});
    expectAsCounted(resampling, scene, {"3", PixelType::float64, 1, true, ofNumbers});
    expectAsCounted(resampling, scene, {"labels", PixelType::uint8, 1, false, ofNumbers});
  }
}

using ResamplingMemoryOnCuda = testing::GpuTest;

TEST_F(ResamplingMemoryOnCuda, OfOneChunkIsAsCounted)
{
  expectAllAsCounted({110, 100, 90}, {130, 120, 80});
}

TEST_F(ResamplingMemoryOnCuda, OfSeveralChunksIsAsCounted)
{
  expectAllAsCounted({170, 160, 190}, {130, 120, 80});
}

TEST_F(ResamplingMemoryOnCuda, OfLongLinesIsAsCounted)
{
  const ResampleScene<3> scene({60, 50, 40}, {30, 1500, 40});
  expectAsCounted({"A", letterChain<3>("A", scene.fixed)}, scene, {"3"});
}

}
}
