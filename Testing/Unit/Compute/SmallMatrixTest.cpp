#include "Core/Compute/Math/SmallMatrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

template <int D>
Matrix<D> exampleMatrix()
{
  Matrix<D> m;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      m[i][j] = std::sin(1.7 * i + 5.3 * j + 0.4 * i * j) + (i == j ? 1 : 0);
  return m;
}

/// The sum over all permutations (Leibniz).
template <int D>
double sumOverPermutations(const Matrix<D>& m)
{
  std::array<int, D> order;
  std::iota(order.begin(), order.end(), 0);
  double sum = 0;
  do {
    double product = 1;
    for (int i = 0; i < D; ++i)
      product *= m[i][order[i]];
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < i; ++j)
        product *= order[j] > order[i] ? -1 : 1;
    sum += product;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum;
}

template <int D>
void expectInverseAndDeterminant()
{
  const Matrix<D> m = exampleMatrix<D>(), one = multiply<D>(m, inverse(m));
  ASSERT_GT(std::abs(determinant(m)), 0.1);
  EXPECT_NEAR(determinant(m), sumOverPermutations<D>(m), 1e-14);
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j)
      EXPECT_NEAR(one[i][j], i == j ? 1 : 0, 1e-13) << i << " " << j;
}

TEST(SmallMatrixTest, AMatrixTimesItsInverseIsOneAndDeterminantsAreSumsOverPermutations)
{
  expectInverseAndDeterminant<2>();
  expectInverseAndDeterminant<3>();
  expectInverseAndDeterminant<4>();
}

}
}
