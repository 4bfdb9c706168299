// needs: ITK
#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineSettings.h"

#include "Testing/Support/Scenes/RandomLandmarks.h"

#include <vnl/algo/vnl_qr.h>

#include <cmath>
#include <stdexcept>

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

/// Covariances with axes of all directions and deviations from 0.3 to 3.
template <int D>
std::vector<Matrix<D>> randomCovariances(std::size_t count, unsigned seed)
{
  std::vector<Matrix<D>> covariances;
  const std::vector<double> values = randomVector(D * D * count, seed, -1.5, 1.5);
  for (std::size_t i = 0; i < count; ++i) {
    Matrix<D> covariance{};
    for (std::size_t a = 0; a < D; ++a)
      for (std::size_t b = 0; b < D; ++b) {
        covariance[a][b] = a == b ? 0.1 : 0;
        for (std::size_t k = 0; k < D; ++k)
          covariance[a][b] += values[D * D * i + D * a + k] * values[D * D * i + D * b + k];
      }
    covariances.push_back(covariance);
  }
  return covariances;
}

/// The smoothed landmarks from (K + sign smoothing C) w + P a = d, P^T w = 0, with C the covariances times
/// the mean of their inverse variances, and K that of a radial kernel in all components.
template <int D>
std::vector<double> smoothedByTheDenseSystem(const SplineModel<D>& model, const std::vector<double>& moving,
                                             const std::vector<Matrix<D>>& covariances, double smoothing)
{
  const std::size_t n = model.landmarksMm.size(), rows = D * (n + D + 1);
  double mean = 0;
  for (const Matrix<D>& covariance : covariances)
    for (std::size_t d = 0; d < D; ++d)
      mean += inverse(covariance)[d][d] / static_cast<double>(D * n);
  vnl_matrix<double> matrix(rows, rows, 0.0);
  vnl_vector<double> right(rows, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const Vec<D>& p = model.landmarksMm[i];
    for (std::size_t j = 0; j < n; ++j) {
      double squared = 0;
      for (std::size_t d = 0; d < D; ++d)
        squared += std::pow(p[d] - model.landmarksMm[j][d], 2);
      const double r = std::sqrt(squared);
      for (std::size_t d = 0; d < D && i != j; ++d)
        matrix[D * i + d][D * j + d] = D == 3 ? r : squared * std::log(r);
    }
    for (std::size_t a = 0; a < D; ++a) {
      for (std::size_t b = 0; b < D; ++b)
        matrix[D * i + a][D * i + b] = kernelSign<D>(model.kernel) * smoothing * mean * covariances[i][a][b];
      for (std::size_t m = 0; m <= D; ++m)
        matrix[D * i + a][D * (n + m) + a] = matrix[D * (n + m) + a][D * i + a] = m < D ? p[m] : 1;
      right[D * i + a] = moving[D * i + a] - p[a];
    }
  }
  const vnl_vector<double> weights = vnl_qr<double>(matrix).solve(right);
  std::vector<double> smoothed = moving;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < D; ++a)
      for (std::size_t b = 0; b < D; ++b)
        smoothed[D * i + a] -= matrix[D * i + a][D * i + b] * weights[D * i + b];
  return smoothed;
}

template <int D>
void expectCovariancesSolveTheDenseSystem(SplineKernel kernel, double smoothing)
{
  SplineModel<D> model{.kernel = kernel, .landmarksMm = randomLandmarks<D>(40, 3, 100)};
  const std::vector<double> at = coordinates<D>(model.landmarksMm);
  const std::vector<double> moving = moved(at, 3, randomVector(at.size(), 4));
  const std::vector<Matrix<D>> covariances = randomCovariances<D>(40, 5);
  const SmoothedLandmarks found =
      smoothedLandmarks<D>(threads(2), model, moving, {{}, covariances}, smoothing).value();
  const std::vector<double> expected = smoothedByTheDenseSystem<D>(model, moving, covariances, smoothing);
  EXPECT_LE(largestDifference(found.movingMm, expected), 1e-7);
  EXPECT_GT(largestDifference(expected, moving), 1);

  // equal variances are weights
  std::vector<Matrix<D>> round;
  std::vector<double> weights;
  for (std::size_t i = 0; i < 40; ++i) {
    weights.push_back(1 + static_cast<double>(i % 5));
    round.push_back(identityMatrix<D>());
    for (std::size_t d = 0; d < D; ++d)
      round.back()[d][d] = 7 / weights.back();
  }
  const SmoothedLandmarks byWeights =
      smoothedLandmarks<D>(threads(1), model, moving, {weights, {}}, {}).value();
  const SmoothedLandmarks byCovariances =
      smoothedLandmarks<D>(threads(1), model, moving, {{}, round}, {}).value();
  EXPECT_NEAR(byCovariances.smoothing, byWeights.smoothing, 1e-6 * byWeights.smoothing);
  EXPECT_LE(largestDifference(byCovariances.movingMm, byWeights.movingMm), 1e-7);
}

TEST(SplineCovariances, CovariancesOfErrorsAreThoseOfTheDenseSystem)
{
  expectCovariancesSolveTheDenseSystem<2>(SplineKernel::thinPlateR2LogR, 500);
  expectCovariancesSolveTheDenseSystem<3>(SplineKernel::thinPlate, 20);
}

TEST(SplineCovariances, ALandmarkIsHardlyFollowedWhereItsErrorIsLarge)
{
  SplineModel<3> model;
  model.landmarksMm = randomLandmarks<3>(60, 1, 100);
  std::vector<double> moving = coordinates<3>(model.landmarksMm);
  moving[3 * 7] += 20;
  moving[3 * 7 + 1] += 20;
  std::vector<Matrix<3>> covariances(60, identityMatrix<3>());
  covariances[7][0][0] = 1e4;
  for (const SplineKernel kernel : {SplineKernel::thinPlate, SplineKernel::elasticBodyReciprocal}) {
    model.kernel = kernel;
    const SmoothedLandmarks found =
        smoothedLandmarks<3>(threads(1), model, moving, {{}, covariances}, 0.3).value();
    EXPECT_LT(found.movingMm[21] - model.landmarksMm[7][0], 2);
    EXPECT_GT(found.movingMm[22] - model.landmarksMm[7][1], 15);
  }
}

TEST(SplineCovariances, ACovarianceMustBePositiveDefinite)
{
  SplineModel<2> model;
  model.landmarksMm = randomLandmarks<2>(6, 1, 100);
  std::vector<Matrix<2>> covariances(6, identityMatrix<2>());
  covariances[4] = {{{1, 2}, {2, 1}}};
  EXPECT_THROW(
      smoothedLandmarks<2>(threads(1), model, coordinates<2>(model.landmarksMm), {{}, covariances}, 1),
      std::invalid_argument);
}

}
}
