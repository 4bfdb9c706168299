#pragma once

// Images for LocalNormalizedCorrelation, and its value and slopes by loops over windows.

#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/LatticeImages.h"

#include <cmath>
#include <string>
#include <vector>

namespace tessera::testing {

/// Noise from 0 to 100, and a moving image that is related to the fixed one.
struct LocalCorrelationCase : LatticeImages {
  explicit LocalCorrelationCase(const std::array<std::size_t, 3>& sizeOfLattice, double missing = 0)
      : LatticeImages(
          sizeOfLattice, missing, [](std::size_t, double a) { return a; },
          [](double a, double b) { return 0.6 * a + 0.4 * b; })
  {
  }
};

inline LocalNormalizedCorrelation localMetric(const std::string& window, const LatticeImages& images)
{
  LocalNormalizedCorrelation metric(parametersOf(window, images.dimension(), 1, "Metric0"));
  metric.prepareForLevel(0, {0, 100, 0, 100});
  return metric;
}

inline LatticeResult localResult(const std::string& window, const LatticeImages& images, int threads = 1,
                                 bool withSlopes = true)
{
  return evaluateOnCpu(localMetric(window, images), images, threads, withSlopes);
}

constexpr const char* ownNoise = "(LocalIntensityNoiseIsShared \"false\")";

/// The equations as they stand, one window after the other.
inline LatticeResult naiveResult(const std::string& text, const LocalCorrelationCase& images,
                                 double noise = 0.001)
{
  const bool isShared = text.find(ownNoise) == std::string::npos;
  const LocalWindow window = LocalWindow::read(parametersOf(text, images.dimension(), 1, "Metric0"), 0);
  const std::array<int, 3> size{static_cast<int>(images.size[0]), static_cast<int>(images.size[1]),
                                static_cast<int>(images.size[2])};
  const auto forWindow = [&](int x, int y, int z, const auto& body) {
    const std::array<int, 3> centre{x, y, z};
    std::array<int, 3> first, last;
    for (int d = 0; d < 3; ++d) {
      first[d] = std::max(0, centre[d] - window.radius[d]);
      last[d] = std::min(size[d] - 1, centre[d] + window.radius[d]);
    }
    std::array<int, 3> at;
    for (at[2] = first[2]; at[2] <= last[2]; ++at[2])
      for (at[1] = first[1]; at[1] <= last[1]; ++at[1])
        for (at[0] = first[0]; at[0] <= last[0]; ++at[0]) {
          const std::size_t i = (static_cast<std::size_t>(at[2]) * size[1] + at[1]) * size[0] + at[0];
          double weight = 1;
          for (int d = 0; d < 3 && !window.isBox(); ++d)
            weight *= window.weights[d][at[d] - centre[d] + window.radius[d]];
          if (!std::isnan(images.moving[i]))
            body(i, weight, images.fixed[i] / 100.0 - 0.5, images.moving[i] / 100.0 - 0.5);
        }
  };
  std::vector<double> slopes(images.fixed.size());
  double sum = 0, windows = 0;
  std::size_t centre = 0;
  for (int z = 0; z < size[2]; ++z)
    for (int y = 0; y < size[1]; ++y)
      for (int x = 0; x < size[0]; ++x, ++centre) {
        if (std::isnan(images.moving[centre]))
          continue;
        double n = 0, meanF = 0, meanM = 0, cov = 0, varF = 0, varM = 0;
        forWindow(x, y, z, [&](std::size_t, double weight, double f, double m) {
          n += weight;
          meanF += weight * f;
          meanM += weight * m;
        });
        meanF /= n;
        meanM /= n;
        forWindow(x, y, z, [&](std::size_t, double weight, double f, double m) {
          cov += weight * ((f - meanF) * (m - meanM) + (isShared ? noise * noise : 0));
          varF += weight * ((f - meanF) * (f - meanF) + noise * noise);
          varM += weight * ((m - meanM) * (m - meanM) + noise * noise);
        });
        ++windows;
        const double ofContrast = isShared ? (varF - n * noise * noise) / varF : 1;
        sum += ofContrast * cov * std::abs(cov) / (varF * varM);
        forWindow(x, y, z, [&](std::size_t i, double weight, double f, double m) {
          slopes[i] += ofContrast * weight
                       * (2 * std::abs(cov) / (varF * varM) * (f - meanF)
                          - 2 * cov * std::abs(cov) / (varF * varM * varM) * (m - meanM));
        });
      }
  LatticeResult result{-sum / windows, {}};
  for (const double slope : slopes)
    result.slopes.push_back(static_cast<float>(-slope / windows / 100));
  return result;
}

/// Two and three dimensions; sizes around those of chunks and below those of windows; positions that do not
/// count.
inline std::vector<LocalCorrelationCase> awkwardCases()
{
  std::vector<LocalCorrelationCase> cases;
  for (const double missing : {0.0, 0.3})
    for (const std::array<std::size_t, 3> size :
         {std::array<std::size_t, 3>{7, 5, 1}, {1, 1, 3}, {3, 70, 1}, {66, 2, 2}, {9, 7, 5}, {2, 33, 65}})
      cases.emplace_back(size, missing);
  return cases;
}

inline std::vector<std::string> awkwardWindows()
{
  return {"(LocalWindowRadius 1)", "(LocalWindowRadius 3)", "(LocalWindowRadius 40)",
          "(LocalWindowSigma 0.5)", "(LocalWindowSigma 2)"};
}

inline std::string describe(const LocalCorrelationCase& images)
{
  std::string text;
  for (const std::size_t positions : images.size)
    text += std::to_string(positions) + " ";
  return text
         + (std::ranges::any_of(images.moving, [](float m) { return std::isnan(m); }) ? "with holes " : "");
}

/// `tolerance` is a share of the largest slope, or of 0.1: parts of that size cancel each other in windows of
/// two or three positions.
inline void expectSameSlopes(const std::vector<float>& found, const std::vector<float>& expected,
                             double tolerance, const std::string& what)
{
  EXPECT_LE(largestDifference(found, expected), tolerance * std::max(0.1, largestMagnitude(expected)))
      << what;
}

}
