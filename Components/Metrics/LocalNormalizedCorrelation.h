#pragma once

#include "Components/Metrics/Shared/IntensityUnit.h"
#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"
#include "Core/Registration/Metric.h"

#include <vector>

namespace tessera {

/// Minus the mean of the squared local correlation coefficients, with their signs:
///   C = -1/N sum_x w(x) cov(x) |cov(x)| / (A(x) B(x)),
/// x the N positions that count, w a weight, see below, cov, A and B the sums over the window around x of (f
/// - f_x)(m - m_x), (f - f_x)^2 and (m - m_x)^2, f_x and m_x the means in the window; positions that do not
/// count are in no window. From -1 (a linear relation of positive slope in each window) to 1. Sources:
/// Cachier et al., "Iconic feature based nonrigid registration: the PASHA algorithm", CVIU 89 (2003), for
/// Gaussian windows; Avants et al., "Symmetric diffeomorphic image registration with cross-correlation",
/// Medical Image Analysis 12 (2008), for boxes and the square.
///
/// A and B are increased by n, the sum over the window of noise^2, the `LocalIntensityNoise`, in units of
/// each image's intensity range squared, so that windows with little contrast weigh little, and those without
/// contrast nothing. By default (`LocalIntensityNoiseIsShared`) both images share that noise: cov is
/// increased by n, too, and w = (A - n) / A is a weight of the fixed image's contrast. Then each window of
/// images that are equal in these units has its largest coefficient, w, and every slope is 0. With "false" w
/// = 1, and cov is as it is: a window gains where the moving image has more contrast, even if it was equal
/// before.
///
/// d C / d m(y) = -1/N (f(y) sum p(x) - m(y) sum q(x) + sum (q(x) m_x - p(x) f_x)), the sums over the windows
/// that y is in, p = 2 w |cov| / (A B), q = p cov / B. It is the exact derivative: Avants et al. take only
/// the window around y itself.
///
/// On CUDA, sums over boxes are sums of integers: intensities and their products are rounded to 2^-22 of the
/// intensity range (2^-21 in windows of 9 x 9 x 9), and cut off half a range beyond the range.
class LocalNormalizedCorrelation final : public LatticeMetric {
public:
  explicit LocalNormalizedCorrelation(const Parameters&);

  static const ComponentDescription& description();

  void prepareForLevel(std::size_t level, const LevelFacts& facts) override
  {
    level_ = level;
    fixed_ = IntensityUnit(facts.fixedMin, facts.fixedMax);
    moving_ = IntensityUnit(facts.movingMin, facts.movingMax);
  }
  /// Names the metric if the window of a level is wider than LocalWindow::maxRadiusOnCuda.
  std::string whyNotOnCuda() const override;
  std::unique_ptr<MetricOnCuda> onCuda(const Context&, std::size_t latticePositions = 0) const override;
  double evaluate(const Context&, const LatticeIntensities&, float* slopes) override;
  std::size_t bytesAPosition() const override { return 3 * sizeof(float); }

private:
  std::vector<LocalWindow> windows_; // one a level
  std::vector<double> noises_;       // one a level, shares of the intensity ranges
  std::vector<bool> noiseIsShared_;  // one a level
  std::size_t level_ = 0;
  IntensityUnit fixed_, moving_;
  std::vector<float> p_, q_, r_; // factors of the slopes, at each position
};

}
