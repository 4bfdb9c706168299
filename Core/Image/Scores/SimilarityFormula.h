#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>

namespace tessera::similarity {

constexpr int radius = 5, taps = 2 * radius + 1;
constexpr int sums = 5; // of a, b, a a, b b and a b

/// The Gaussian of a window along an axis.
struct Window {
  double weights[taps];

  static Window gaussian()
  {
    constexpr double sigmaVoxels = 1.5;
    Window window{};
    double sum = 0;
    for (int t = 0; t < taps; ++t) {
      const double x = (t - radius) / sigmaVoxels;
      sum += window.weights[t] = std::exp(-x * x / 2);
    }
    for (double& weight : window.weights)
      weight /= sum;
    return window;
  }
};

/// The constants of images with this range of grey values.
inline double c1(double greyRange)
{
  return 0.01 * greyRange * 0.01 * greyRange;
}
inline double c2(double greyRange)
{
  return 0.03 * greyRange * 0.03 * greyRange;
}

/// The structural similarity of a window from its weighted means (Wang et al. 2004, equation 13).
TESSERA_HOST_DEVICE inline double ofMeans(const double (&mean)[sums], double c1, double c2)
{
  const double a = mean[0], b = mean[1];
  const double aa = mean[2] - a * a, bb = mean[3] - b * b, ab = mean[4] - a * b;
  return (2 * a * b + c1) * (2 * ab + c2) / ((a * a + b * b + c1) * (aa + bb + c2));
}

/// The bin of a value.
TESSERA_HOST_DEVICE inline int binOf(float value, float least, double binsAValue, int bins)
{
  const int bin = static_cast<int>((static_cast<double>(value) - least) * binsAValue);
  return bin < bins ? bin : bins - 1;
}

}
