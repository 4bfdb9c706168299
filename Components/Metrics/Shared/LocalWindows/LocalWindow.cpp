#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"

#include <cmath>
#include <numeric>

namespace tessera {
namespace {

const Parameter<std::int64_t> localWindowRadius =
    integerParameter("LocalWindowRadius", 2, 1, Arity::perLevelAndDimension, "samples",
                     "how far a box window reaches on either side of its centre: voxels of the level with "
                     "the sampler \"Full\", points of the grid with \"Grid\"; one value, one a level, or one "
                     "for each axis of each level")
        .atMost(1 << 20);

const Parameter<double> localWindowSigma =
    realParameter(
        "LocalWindowSigma", std::nan(""), Arity::perLevel, "samples",
        "standard deviation of a Gaussian window, which takes the place of the box; it ends at 3 sigma")
        .atLeast(0.1)
        .atMost(100);

/// The entry of LocalWindowRadius for an axis of a level.
std::size_t entryOfRadius(const Parameters& parameters, std::size_t level, std::size_t axis)
{
  const std::size_t levels = parameters.levelCount(), dimension = parameters.dimension(),
                    values = parameters.all(localWindowRadius).size();
  if (values <= 1)
    return 0;
  if (values == levels)
    return level;
  if (values == levels * dimension)
    return level * dimension + axis;
  parameters.fail(localWindowRadius.name,
                  std::to_string(values) + " values for " + std::to_string(levels) + " levels of "
                      + std::to_string(dimension) + " axes",
                  "Allowed: 1, " + std::to_string(levels) + " or " + std::to_string(levels * dimension)
                      + " values");
}

}

LocalWindow LocalWindow::read(const Parameters& parameters, std::size_t level)
{
  const bool isGaussian = parameters.has(localWindowSigma.name);
  if (isGaussian && parameters.has(localWindowRadius.name))
    parameters.fail(localWindowSigma.name, "a Gaussian window beside a LocalWindowRadius",
                    "Allowed: LocalWindowRadius for a box, or LocalWindowSigma for a Gaussian");
  const std::size_t dimension = parameters.dimension();
  if (isGaussian)
    return gaussian(parameters.get(localWindowSigma, level), dimension);
  LocalWindow window;
  for (std::size_t d = 0; d < dimension; ++d)
    window.radius[d] =
        static_cast<int>(parameters.get(localWindowRadius, entryOfRadius(parameters, level, d)));
  return window;
}

LocalWindow LocalWindow::gaussian(double sigma, std::size_t dimension)
{
  LocalWindow window;
  for (std::size_t d = 0; d < window.radius.size(); ++d) {
    const int radius = d < dimension ? static_cast<int>(std::ceil(3 * sigma)) : 0;
    std::vector<double>& weights = window.weights[d];
    for (int offset = -radius; offset <= radius; ++offset)
      weights.push_back(std::exp(-offset * offset / (2 * sigma * sigma)));
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights)
      weight /= sum;
    window.radius[d] = radius;
  }
  return window;
}

std::vector<ParameterInfo> LocalWindow::parameters()
{
  return {localWindowRadius, localWindowSigma};
}

}
