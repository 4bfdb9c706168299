#include "Tools/Bench/Benches.h"

#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Core/Compute/Math/Random.h"
#include "Tools/Bench/BenchClock.h"

#include <cmath>

namespace tessera {
namespace {

/// A grid with spacings of 5 mm, and coefficients of at most 1 mm.
struct Case {
  BSplineGrid<3> grid;
  std::vector<double> coefficients;

  explicit Case(const std::array<int, 3>& points)
  {
    for (int d = 0; d < 3; ++d) {
      grid.points.size[d] = static_cast<std::size_t>(points[d]);
      grid.points.spacingMm[d] = 5;
    }
    coefficients.resize(grid.parameterCount());
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      coefficients[i] = 2 * unitUniform(randomWords(Draw{1}, static_cast<std::uint32_t>(i), 0)[0]) - 1;
  }
};

void measure(Context& context, BenchClock& clock, const std::array<int, 3>& points,
             std::vector<BenchResult>& results)
{
  const Case problem(points);
  const std::size_t count = problem.coefficients.size(), bytes = count * sizeof(double);
  const std::string name = extentsName(points);
  const double items = static_cast<double>(count / 3), bytesMoved = 2 * static_cast<double>(bytes);
  Buffer<double> coefficients(context, count), gradient(context, count), value(context, 1);
  coefficients.fromHost(context, problem.coefficients);
  double limitMs = 0;
  if (context.onCuda()) {
    const BenchTimes copy = clock.timeCopy(bytes);
    limitMs = copy.ms;
    results.push_back(measuredRow(context, name, "copy of 24 bytes", copy, items, bytesMoved));
  }
  ExactBendingEnergy<3> energy(problem.grid);
  const auto work = [&] {
    if (context.onCuda())
      energy.evaluateOnCuda(context, coefficients.span(), gradient.span(), value.span().data());
    else
      value.span()[0] = energy.evaluate(context, coefficients.span(), gradient.span());
  };
  const BenchTimes times = clock.time(work);
  BenchResult result =
      measuredRow(context, name, "value and gradient", times, items, bytesMoved).besideLimit(limitMs, "copy");
  if (limitMs > 0) {
    Context cpu;
    std::vector<double> exact(count);
    energy.evaluate(cpu, problem.coefficients, exact);
    const std::vector<double> found = gradient.toHost(context);
    result.meanError = result.largestError = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double error = std::abs(found[i] - exact[i]);
      *result.meanError += error / static_cast<double>(count);
      result.largestError = std::max(*result.largestError, error);
    }
  }
  results.push_back(result);
}

}

std::vector<BenchResult> bendingBench(Context& context, const LatticeSettings& settings)
{
  BenchClock clock(context, settings.repeats);
  std::vector<BenchResult> results;
  for (const auto& points : settings.volumes)
    measure(context, clock, points, results);
  return results;
}

}
