// needs: GPU
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"
#include "Components/Transforms/EulerTransform.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Testing/Support/Checks/ResamplingChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BSplineChains.h"
#include "Testing/Support/Scenes/ModelTransforms.h"

namespace tessera {
namespace {

using namespace testing;

constexpr Size<3> size{150, 140, 131}; // with 400 landmarks more than 1e9 pairs

ImageGeometry<3> output()
{
  return turnedLattice<3>(size, {1, 1.1, 1.2});
}

/// A rotation, then a spline of landmarks, then another rotation.
TransformChain<3> chainOf(std::size_t landmarks, bool isAlone)
{
  TransformChain<3> spline = splineOf<3>("ThinPlateSpline", scatteredLandmarks<3>(output(), landmarks, 3));
  if (isAlone)
    return spline;
  const auto rotation = [](double angle) {
    TransformChain<3> chain;
    chain.transform = std::make_shared<EulerTransform<3>>(parametersOf("", 3, 1, "Transform0"));
    chain.parameters = {angle, -angle, angle / 2, 2, -1, 3};
    return chain;
  };
  spline.initial = std::make_shared<const TransformChain<3>>(rotation(0.03));
  TransformChain<3> chain = rotation(-0.02);
  chain.initial = std::make_shared<const TransformChain<3>>(std::move(spline));
  return chain;
}

using LandmarkFieldsOnCuda = testing::GpuTest;

TEST_F(LandmarkFieldsOnCuda, ImagesThroughManyLandmarksAreTheCpusToTheTolerance)
{
  const TransformChain<3> chain = chainOf(400, false);
  Context cpu{{}, 4};
  const Resampling<3> resampling{&chain, output(), imageFor<3>("linear", output()), nullptr};
  const auto prepared = resampleInterpolator<3>("linear");
  prepared->prepareForLevel(cuda, resampling.moving, 0);
  const MovingToResample<3> moving(cuda, {prepared.get(), nullptr}, Extrapolation::constant, 0);
  EXPECT_STREQ(ResamplingOnCuda<3>(cuda, chain, output()).method(moving),
               "a spline of landmarks to 0.001 mm");
  const TransformChain<3> few = chainOf(40, false);
  EXPECT_STREQ(ResamplingOnCuda<3>(cuda, few, output()).method(moving), "points in double precision");

  const std::vector<float> values = resampling.on(cuda, "linear"), expected = resampling.on(cpu, "linear");
  EXPECT_EQ(resampling.on(cuda, "linear"), values);
  std::size_t otherSide = 0;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((values[i] == outsideValue) != (expected[i] == outsideValue))
      ++otherSide;
    else
      largest = std::max(largest, std::abs(static_cast<double>(values[i]) - expected[i]));
  EXPECT_LE(largest, 0.5); // among noise that changes by up to 255 from voxel to voxel
  EXPECT_LE(otherSide, values.size() / 10000);
}

TEST_F(LandmarkFieldsOnCuda, AWholeFieldIsTheCpusToTheTolerance)
{
  const TransformChain<3> chain = chainOf(300, true);
  Context cpu{{}, 4};
  const VectorImage<3> field = displacementField<3>(cuda, chain, output()),
                       expected = displacementField<3>(cpu, chain, output());
  EXPECT_LE(largestDifference(field.voxels, expected.voxels), usualFieldToleranceMm);
  const TransformChain<3> behind = chainOf(300, false);
  EXPECT_THROW(displacementField<3>(cuda, behind, output()), Error);
}

}
}
