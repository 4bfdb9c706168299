#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera {

/// The eigenvalues of a symmetric matrix, largest first, and vectors[i * n + k], entry k of the unit vector
/// of eigenvalue i.
struct SymmetricEigen {
  std::vector<double> values, vectors;
};

/// Decomposes a symmetric n x n matrix, stored row by row, by Jacobi's rotations (Golub and Van Loan, "Matrix
/// Computations", section 8.5). It takes some n^3 operations a sweep, and some ten sweeps.
inline SymmetricEigen symmetricEigen(std::vector<double> a, std::size_t n)
{
  std::vector<double> v(n * n, 0.0);
  double all = 0;
  for (std::size_t i = 0; i < n; ++i)
    v[i * n + i] = 1;
  for (const double entry : a)
    all += entry * entry;
  const auto rotate = [n](double& x, double& y, double c, double s) {
    const double before = x;
    x = c * before - s * y;
    y = s * before + c * y;
  };
  for (int sweep = 0; sweep < 60; ++sweep) {
    double beside = 0;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q)
        beside += a[p * n + q] * a[p * n + q];
    if (!(beside > 1e-32 * all))
      break;
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p * n + q] == 0)
          continue;
        const double tau = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
        const double t = std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
        const double c = 1 / std::hypot(1.0, t), s = t * c;
        for (std::size_t k = 0; k < n; ++k)
          rotate(a[k * n + p], a[k * n + q], c, s);
        for (std::size_t k = 0; k < n; ++k) {
          rotate(a[p * n + k], a[q * n + k], c, s);
          rotate(v[p * n + k], v[q * n + k], c, s);
        }
      }
  }
  SymmetricEigen found;
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i)
    order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return a[i * n + i] > a[j * n + j]; });
  for (const std::size_t i : order) {
    found.values.push_back(a[i * n + i]);
    found.vectors.insert(found.vectors.end(), v.begin() + static_cast<std::ptrdiff_t>(i * n),
                         v.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
  }
  return found;
}

}
