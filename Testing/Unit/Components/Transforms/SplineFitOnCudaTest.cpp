// needs: GPU
#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/OnCuda/CholeskyOnCuda.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cmath>

namespace tessera {
namespace {

using checks::randomVector;

/// Landmarks that a smooth motion and errors of up to 0.5 mm move.
struct Scene {
  SplineModel<3> model;
  std::vector<double> movingMm, weights;

  Scene(SplineKernel kernel, std::size_t count)
  {
    model.kernel = kernel;
    const std::vector<double> places = randomVector(3 * count, 1, -100, 100),
                              errors = randomVector(3 * count, 2, -0.5, 0.5);
    for (std::size_t i = 0; i < count; ++i) {
      model.landmarksMm.push_back({places[3 * i], places[3 * i + 1], places[3 * i + 2]});
      for (std::size_t d = 0; d < 3; ++d)
        movingMm.push_back(places[3 * i + d] + 4 * std::sin(0.03 * places[3 * i + (d + 1) % 3])
                           + errors[3 * i + d]);
    }
    weights = randomVector(count, 3, 0.2, 2);
  }
};

std::vector<Vec<3>> mapped(const SplineModel<3>& model, const std::vector<double>& vectors)
{
  const SplineOfLandmarks<3> spline{model.kernel, model.alpha(), static_cast<int>(model.landmarksMm.size()),
                                    model.landmarksMm.front().data(), vectors.data()};
  const std::vector<double> places = randomVector(300, 4, -110, 110);
  std::vector<Vec<3>> points;
  for (std::size_t i = 0; i < 100; ++i)
    points.push_back(spline({places[3 * i], places[3 * i + 1], places[3 * i + 2]}));
  return points;
}

using SplineFitOnCuda = testing::GpuTest;

TEST_F(SplineFitOnCuda, SplinesAreTheCpus)
{
  Context cpu{{}, 4};
  for (const auto& [kernel, count] : {std::pair{SplineKernel::thinPlate, 517u},
                                      {SplineKernel::thinPlate, 1000u},
                                      {SplineKernel::thinPlateR2LogR, 577u},
                                      {SplineKernel::volume, 600u},
                                      {SplineKernel::elasticBody, 201u},
                                      {SplineKernel::elasticBodyReciprocal, 230u}}) {
    const Scene scene(kernel, count);
    const auto expected = splineVectors<3>(cpu, scene.model, scene.movingMm),
               found = splineVectors<3>(cuda, scene.model, scene.movingMm);
    ASSERT_TRUE(expected && found) << static_cast<int>(kernel);
    EXPECT_EQ(found, (splineVectors<3>(cuda, scene.model, scene.movingMm)));
    const std::vector<Vec<3>> a = mapped(scene.model, *expected), b = mapped(scene.model, *found);
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t d = 0; d < 3; ++d)
        EXPECT_NEAR(a[i][d], b[i][d], kernel == SplineKernel::thinPlate ? 1e-6 : 1e-4)
            << static_cast<int>(kernel) << ", " << count;
  }
}

TEST_F(SplineFitOnCuda, SmoothingChoosesAsOnTheCpu)
{
  Context cpu{{}, 4};
  const Scene scene(SplineKernel::thinPlate, 700);
  for (const std::vector<double>& weights : {std::vector<double>{}, scene.weights}) {
    const auto expected = smoothedLandmarks<3>(cpu, scene.model, scene.movingMm, {weights, {}}, {}),
               found = smoothedLandmarks<3>(cuda, scene.model, scene.movingMm, {weights, {}}, {});
    ASSERT_TRUE(expected && found);
    EXPECT_NEAR(found->smoothing, expected->smoothing, 1e-6 * expected->smoothing);
    EXPECT_LE(testing::largestDifference(found->movingMm, expected->movingMm), 1e-7);
  }
}

TEST_F(SplineFitOnCuda, CovariancesOfErrorsSmoothAsOnTheCpu)
{
  Context cpu{{}, 4};
  for (const SplineKernel kernel : {SplineKernel::thinPlate, SplineKernel::elasticBodyReciprocal}) {
    const Scene scene(kernel, 300); // 900 rows
    std::vector<Matrix<3>> covariances;
    for (const double weight : scene.weights)
      covariances.push_back({{{weight, 0.3 * weight, -0.1}, {0.3 * weight, 2 * weight, 0}, {-0.1, 0, 0.5}}});
    const auto expected = smoothedLandmarks<3>(cpu, scene.model, scene.movingMm, {{}, covariances}, {}),
               found = smoothedLandmarks<3>(cuda, scene.model, scene.movingMm, {{}, covariances}, {});
    ASSERT_TRUE(expected && found);
    EXPECT_NEAR(found->smoothing, expected->smoothing, 1e-6 * expected->smoothing);
    EXPECT_LE(testing::largestDifference(found->movingMm, expected->movingMm), 1e-7);
  }
}

TEST_F(SplineFitOnCuda, EqualLandmarksDetermineNoSpline)
{
  Scene scene(SplineKernel::thinPlate, 600);
  scene.model.landmarksMm[599] = scene.model.landmarksMm[3];
  EXPECT_FALSE(splineVectors<3>(cuda, scene.model, scene.movingMm));
  for (Vec<3>& landmarkMm : scene.model.landmarksMm)
    landmarkMm[2] = 5; // on one plane
  EXPECT_FALSE(splineVectors<3>(cuda, scene.model, scene.movingMm));
}

TEST_F(SplineFitOnCuda, FactorsOfAllSizesSolve)
{
  for (const std::size_t n : {1u, 63u, 64u, 65u, 200u, 515u}) {
    std::vector<double> matrix(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        matrix[i * n + j] = matrix[j * n + i] =
            std::exp(-0.02 * static_cast<double>(i - j)) + (i == j ? 0.5 : 0);
    Buffer<double> onCuda;
    onCuda.fromHost(cuda, matrix);
    CholeskyOnCuda factor;
    ASSERT_TRUE(factor.factor(cuda, onCuda, n, 0.25)) << n;
    for (const std::size_t sides : {1u, 3u, 17u}) {
      const std::vector<double> right = randomVector(n * sides, n);
      std::vector<double> solution = right;
      factor.solve(cuda, solution, sides, true);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t s = 0; s < sides; ++s) {
          double sum = 0.25 * solution[i * sides + s];
          for (std::size_t j = 0; j < n; ++j)
            sum += matrix[i * n + j] * solution[j * sides + s];
          EXPECT_NEAR(sum, right[i * sides + s], 1e-10);
        }
    }
    matrix[n * n - 1] = -1;
    onCuda.fromHost(cuda, matrix);
    EXPECT_FALSE(factor.factor(cuda, onCuda, n, 0.25)) << n;
  }
}

}
}
