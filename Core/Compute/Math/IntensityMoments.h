#pragma once

#include <cmath>
#include <optional>

namespace tessera {

/// Sums over pairs of a fixed and a moving intensity.
struct IntensityMoments {
  double count = 0, fixed = 0, moving = 0, fixedSquared = 0, movingSquared = 0, product = 0;

  void add(double f, double m)
  {
    count += 1;
    fixed += f;
    moving += m;
    fixedSquared += f * f;
    movingSquared += m * m;
    product += f * m;
  }
  void add(const IntensityMoments& other)
  {
    count += other.count;
    fixed += other.fixed;
    moving += other.moving;
    fixedSquared += other.fixedSquared;
    movingSquared += other.movingSquared;
    product += other.product;
  }
  // Times the count:
  double covariance() const { return product - fixed * moving / count; }
  double varianceOfFixed() const { return fixedSquared - fixed * fixed / count; }
  double varianceOfMoving() const { return movingSquared - moving * moving / count; }
  /// Nothing without contrast.
  std::optional<double> correlation() const
  {
    const double ff = varianceOfFixed(), mm = varianceOfMoving();
    if (!(ff > 1e-12 * fixedSquared && mm > 1e-12 * movingSquared))
      return {};
    return covariance() / std::sqrt(ff * mm);
  }
};

}
