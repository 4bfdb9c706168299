#include "Core/Compute/Math/SymmetricEigen.h"

#include "Core/Compute/Math/Random.h"

#include <gtest/gtest.h>

#include <functional>

namespace tessera {
namespace {

TEST(SymmetricEigenTest, VectorsAreOrthogonalAndGiveTheMatrixBack)
{
  for (const std::size_t n : {1u, 2u, 7u, 40u}) {
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i; j < n; ++j)
        a[i * n + j] = a[j * n + i] =
            unitUniform(randomWords({}, static_cast<std::uint32_t>(i * n + j), 0)[0]) - 0.5;

    const SymmetricEigen eigen = symmetricEigen(a, n);

    EXPECT_TRUE(std::ranges::is_sorted(eigen.values, std::greater<>{}));
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double product = 0, back = 0;
        for (std::size_t k = 0; k < n; ++k) {
          product += eigen.vectors[i * n + k] * eigen.vectors[j * n + k];
          back += eigen.values[k] * eigen.vectors[k * n + i] * eigen.vectors[k * n + j];
        }
        EXPECT_NEAR(product, i == j ? 1 : 0, 1e-13);
        EXPECT_NEAR(back, a[i * n + j], 1e-13);
      }
  }
}

TEST(SymmetricEigenTest, EqualEigenvaluesAndZerosHaveVectorsToo)
{
  const SymmetricEigen eigen = symmetricEigen({1, 1, 1, 1, 1, 1, 1, 1, 1}, 3);
  EXPECT_NEAR(eigen.values[0], 3, 1e-14);
  EXPECT_NEAR(eigen.values[1], 0, 1e-14);
  EXPECT_NEAR(eigen.values[2], 0, 1e-14);
  EXPECT_NEAR(std::abs(eigen.vectors[0]), std::sqrt(1. / 3), 1e-14);
}

}
}
