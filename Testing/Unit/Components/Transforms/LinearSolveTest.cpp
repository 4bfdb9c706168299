#include "Components/Transforms/Shared/LandmarkSplines/SplineSystem.h"

#include "Testing/Support/Checks/TransformChecks.h"

namespace tessera {
namespace {

TEST(LinearSolve, SolvesByHandAndTellsASingularMatrix)
{
  std::vector<double> right{5, 1, 6, 2}; // two right sides
  EXPECT_TRUE(solveLinear({0, 1, 2, 4}, 2, right, 2));
  EXPECT_NEAR(right[0], (6 - 4 * 5) / 2.0, 1e-15);
  EXPECT_NEAR(right[1], (2 - 4 * 1) / 2.0, 1e-15);
  EXPECT_NEAR(right[2], 5, 1e-15);
  EXPECT_NEAR(right[3], 1, 1e-15);
  std::vector<double> other{1, 1};
  EXPECT_FALSE(solveLinear({1, 2, 2, 4}, 2, other, 1));
}

TEST(LinearSolve, ProductOfMatrixAndSolutionIsTheRightSide)
{
  for (const std::size_t count : {1, 2, 3, 17, 40}) {
    const std::vector<double> matrix = checks::randomVector(count * count, count),
                              right = checks::randomVector(count * 3, 7);
    std::vector<double> x = right;

    ASSERT_TRUE(solveLinear(matrix, count, x, 3));

    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t side = 0; side < 3; ++side) {
        double product = 0, magnitude = 1;
        for (std::size_t j = 0; j < count; ++j) {
          product += matrix[i * count + j] * x[j * 3 + side];
          magnitude += std::abs(matrix[i * count + j] * x[j * 3 + side]);
        }
        EXPECT_NEAR(product, right[i * 3 + side],
                    1e-15 * static_cast<double>(count) * magnitude); // backward stable
      }
  }
}

}
}
