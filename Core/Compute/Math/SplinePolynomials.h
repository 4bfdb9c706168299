#pragma once

namespace tessera {

/// The weights of the Order + 1 knots around a point as polynomials of t in [0, 1), padded to whole vectors:
/// w_k = sum over j of value[j][k] t^j. They come from the recursion of uniform B-splines (de Boor):
/// n w^n_k = (n - k + t) w^(n-1)_(k-1) + (k + 1 - t) w^(n-1)_k.
template <int Order, class Real>
struct WeightPolynomials {
  static constexpr int lanes = Order < 4 ? 4 : 8;
  Real value[Order + 1][lanes] = {};
  Real slope[Order][lanes] = {};

  constexpr WeightPolynomials()
  {
    double w[Order + 1][Order + 1] = {{1}}; // [k][power]
    for (int n = 1; n <= Order; ++n)
      for (int k = n; k >= 0; --k) {
        double next[Order + 1] = {};
        for (int j = 0; j < n; ++j) {
          const double left = k > 0 ? w[k - 1][j] : 0, right = k < n ? w[k][j] : 0;
          next[j] += ((n - k) * left + (k + 1) * right) / n;
          next[j + 1] += (left - right) / n;
        }
        for (int j = 0; j <= n; ++j)
          w[k][j] = next[j];
      }
    for (int k = 0; k <= Order; ++k)
      for (int j = 0; j <= Order; ++j) {
        value[j][k] = static_cast<Real>(w[k][j]);
        if (j > 0)
          slope[j - 1][k] = static_cast<Real>(j * w[k][j]);
      }
  }
};

}
