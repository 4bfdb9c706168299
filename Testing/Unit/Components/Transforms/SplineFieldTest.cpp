// needs: GPU
#include "Components/Transforms/Shared/LandmarkSplines/SplineFieldTasks.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"

#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cmath>

namespace tessera {
namespace {

using checks::randomVector;

/// A spline of random landmarks and weights; its terms are of some mm to some hundred mm.
struct Scene {
  std::vector<double> landmarksMm, vectors;
  SplineKernel kernel;
  int count;

  Scene(SplineKernel k, int n) : kernel(k), count(n)
  {
    using enum SplineKernel;
    const double weight = k == thinPlate || k == elasticBodyReciprocal ? 0.1
                          : k == thinPlateR2LogR                       ? 1e-5
                                                                       : 1e-8;
    landmarksMm = randomVector(3 * static_cast<std::size_t>(n), 1, -150, 150);
    vectors = randomVector(3 * static_cast<std::size_t>(n), 2, -weight, weight);
    for (const double value : {1.1, 0.02, -0.01, 0.03, 0.9, 0.05, -0.04, 0.01, 1.05, 3.0, -7.0, 11.0})
      vectors.push_back(value);
  }
  SplineOfLandmarks<3> spline() const
  {
    return {kernel, elasticAlpha(kernel, 0.3), count, landmarksMm.data(), vectors.data()};
  }
};

AffineMap<3> lattice()
{
  return {.matrix = {{{1.4, 0.1, 0.05}, {-0.1, 1.2, -0.2}, {0, 0.15, 2}}}, .offset = {-30, -20, -25}};
}

constexpr std::array<std::size_t, 3> extent{37, 30, 21};

std::vector<float> fieldOnHost(const SplineFieldPlan& plan, const SplineOfLandmarks<3>& spline,
                               std::size_t first, std::size_t count)
{
  std::vector<float> field(3 * extent[0] * extent[1] * count, 1e9f);
  const auto forEach = [](int tasks, const auto& body) {
    for (int task = tasks; task-- > 0;)
      body(task);
  };
  std::vector<double> shared(100000);
  for (int z = 0; z < plan.blocks(2); ++z)
    for (int y = 0; y < plan.blocks(1); ++y)
      for (int x = 0; x < plan.blocks(0); ++x) {
        if (plan.isSingle)
          splinefield::computeBlock<SplineKernel::thinPlate, float>(
              forEach, 256, plan, spline, {x, y, z}, first, count, shared.data(), field.data());
        else
          withKernel<3>(spline.kernel, [&](auto kernel) {
            splinefield::computeBlock<decltype(kernel)::value, double>(
                forEach, 256, plan, spline, {x, y, z}, first, count, shared.data(), field.data());
          });
      }
  return field;
}

/// The largest difference in mm from T(x) - x of the spline itself.
double largestError(const std::vector<float>& field, const SplineOfLandmarks<3>& spline)
{
  double largest = 0;
  const AffineMap<3> pointFromIndex = lattice();
  for (std::size_t v = 0; v < field.size() / 3; ++v) {
    const Vec<3> pointMm = pointFromIndex(Vec<3>{static_cast<double>(v % extent[0]),
                                                 static_cast<double>(v / extent[0] % extent[1]),
                                                 static_cast<double>(v / extent[0] / extent[1])}),
                 mapped = spline(pointMm);
    for (std::size_t d = 0; d < 3; ++d)
      largest = std::max(largest, std::abs(field[3 * v + d] - (mapped[d] - pointMm[d])));
  }
  return largest;
}

TEST(SplineField, ABlocksWorkIsTheSplineToTheTolerance)
{
  for (const SplineKernel kernel :
       {SplineKernel::thinPlate, SplineKernel::thinPlateR2LogR, SplineKernel::volume,
        SplineKernel::elasticBody, SplineKernel::elasticBodyReciprocal})
    for (const double toleranceMm : {1e-2, 1e-3})
      for (const int count : {0, 400}) {
        const Scene scene(kernel, count);
        const auto plan = planSplineField(scene.spline(), lattice(), extent, toleranceMm);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->isSingle, kernel == SplineKernel::thinPlate);
        const std::vector<float> field = fieldOnHost(*plan, scene.spline(), 0, extent[2]);
        const double roundings = 1e-5; // of floats of up to 100 mm
        EXPECT_LE(largestError(field, scene.spline()), toleranceMm + roundings)
            << static_cast<int>(kernel) << " " << toleranceMm << " " << plan->nodes;
      }
}

TEST(SplineField, TheCpuIsTheSplineToTheTolerance)
{
  for (const SplineKernel kernel : {SplineKernel::thinPlate, SplineKernel::volume, SplineKernel::elasticBody})
    for (const double toleranceMm : {1e-3, 1e-4})
      for (const int count : {0, 700}) {
        const Scene scene(kernel, count);
        const auto plan = planSplineField(scene.spline(), lattice(), extent, toleranceMm);
        ASSERT_TRUE(plan);
        std::vector<float> field(3 * extent[0] * extent[1] * extent[2]), again(field.size());
        splineFieldOnCpu({{}, 1}, *plan, scene.spline(), field);
        splineFieldOnCpu({{}, 3}, *plan, scene.spline(), again);
        EXPECT_EQ(field, again);
        EXPECT_LE(largestError(field, scene.spline()), toleranceMm + 2e-5)
            << static_cast<int>(kernel) << " " << toleranceMm << " " << plan->nodes;
      }
}

/// On a fine lattice most landmarks are far from super-blocks.
TEST(SplineField, TheCpuIsTheSplineToTheToleranceFarFromItsLandmarks)
{
  AffineMap<3> fine = lattice();
  for (auto& row : fine.matrix)
    for (double& entry : row)
      entry *= 0.15;
  constexpr std::array<std::size_t, 3> size{150, 70, 66};
  for (const SplineKernel kernel :
       {SplineKernel::thinPlate, SplineKernel::thinPlateR2LogR, SplineKernel::volume,
        SplineKernel::elasticBody, SplineKernel::elasticBodyReciprocal}) {
    const Scene scene(kernel, 700);
    const SplineOfLandmarks<3> spline = scene.spline();
    const auto plan = planSplineField(spline, fine, size);
    ASSERT_TRUE(plan && plan->superNodes > 0);
    std::vector<float> field(3 * size[0] * size[1] * size[2]), again(field.size());
    splineFieldOnCpu({{}, 1}, *plan, spline, field);
    splineFieldOnCpu({{}, 3}, *plan, spline, again);
    EXPECT_EQ(field, again);
    double largest = 0;
    for (std::size_t v = 0; v < field.size() / 3; v += 37) {
      const Vec<3> pointMm = fine(Vec<3>{static_cast<double>(v % size[0]),
                                         static_cast<double>(v / size[0] % size[1]),
                                         static_cast<double>(v / size[0] / size[1])}),
                   mapped = spline(pointMm);
      for (std::size_t d = 0; d < 3; ++d)
        largest = std::max(largest, std::abs(field[3 * v + d] - (mapped[d] - pointMm[d])));
    }
    EXPECT_LE(largest, usualFieldToleranceMm + 2e-5) << static_cast<int>(kernel) << " " << plan->superNodes;
  }
}

TEST(SplineField, ASlabHasTheBitsOfTheWhole)
{
  const Scene scene(SplineKernel::thinPlate, 203);
  const auto plan = planSplineField(scene.spline(), lattice(), extent);
  ASSERT_TRUE(plan);
  const std::vector<float> whole = fieldOnHost(*plan, scene.spline(), 0, extent[2]),
                           slab = fieldOnHost(*plan, scene.spline(), 13, 5);
  const auto perSlice = static_cast<std::ptrdiff_t>(3 * extent[0] * extent[1]);
  EXPECT_TRUE(std::equal(slab.begin(), slab.end(), whole.begin() + 13 * perSlice));
}

TEST(SplineField, AFinerToleranceTakesMoreNodesUntilThereIsNoPlan)
{
  const Scene scene(SplineKernel::thinPlate, 400);
  EXPECT_FALSE(planSplineField(scene.spline(), lattice(), extent, 1e-12));
  const auto coarse = planSplineField(scene.spline(), lattice(), extent, 1),
             fine = planSplineField(scene.spline(), lattice(), extent, 1e-4);
  EXPECT_LT(coarse->nodes, fine->nodes);
}

TEST(SplineField, CudaIsTheSplineToTheTolerance)
{
  TESSERA_NEEDS_GPU();
  Context context = makeContext({DeviceKind::cuda, 0}, 2);
  for (const SplineKernel kernel :
       {SplineKernel::thinPlate, SplineKernel::thinPlateR2LogR, SplineKernel::volume,
        SplineKernel::elasticBody, SplineKernel::elasticBodyReciprocal})
    for (const double toleranceMm : {1e-2, 1e-3}) {
      const Scene scene(kernel, 1000);
      const SplineOfLandmarks<3> onHost = scene.spline();
      const auto plan = planSplineField(onHost, lattice(), extent, toleranceMm);
      ASSERT_TRUE(plan);
      Buffer<double> landmarks, vectors;
      landmarks.fromHost(context, scene.landmarksMm);
      vectors.fromHost(context, scene.vectors);
      SplineOfLandmarks<3> spline = onHost;
      spline.landmarksMm = landmarks.span().data();
      spline.vectors = vectors.span().data();
      const std::size_t perSlice = 3 * extent[0] * extent[1];
      Buffer<float> field(context, perSlice * extent[2]), slab(context, perSlice * 7);
      splineFieldOnCuda(context, *plan, spline, 0, extent[2], field.span().data());
      splineFieldOnCuda(context, *plan, spline, 11, 7, slab.span().data());
      const std::vector<float> whole = field.toHost(context), part = slab.toHost(context);
      EXPECT_LE(largestError(whole, onHost), toleranceMm + 1e-5) << static_cast<int>(kernel);
      EXPECT_TRUE(
          std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(11 * perSlice)));
    }
}

}
}
