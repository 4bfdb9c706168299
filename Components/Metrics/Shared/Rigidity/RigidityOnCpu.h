#pragma once

#include "Components/Metrics/Shared/Rigidity/RigidityFormula.h"
#include "Core/Compute/Context.h"

#include <span>
#include <vector>

namespace tessera {

using RigidityWeights = std::array<double, rigidity::conditions>;

/// The sums of TransformRigidityPenalty and its gradient on the CPU. Filters go over the whole grid, axis by
/// axis, and share what they have in common. Results have equal bits for any number of threads.
template <int D>
class RigidityOnCpu {
public:
  explicit RigidityOnCpu(const RigidityGrid<D>& grid);

  /// `rigidities` has a value for each control point. Overwrites the gradient of the penalty, unless it is
  /// empty.
  RigiditySums evaluate(Context&, std::span<const double> coefficients, std::span<const double> rigidities,
                        const RigidityWeights&, std::span<double> gradient);

private:
  /// How often a filter differentiates along each axis.
  using Orders = std::array<int, D>;
  double* arrayOf(int component, int array)
  {
    return arrays_.data() + (component * rigidityCovectors<D> + array) * points_;
  }
  double* gradientOf(int component, int condition)
  {
    return gradients_.data() + (component * rigidity::conditions + condition) * points_;
  }
  void filter(int component, int axis, Orders orders, const double* from);
  void pullBack(int component, int condition, int axis, Orders orders, double* to);
  RigiditySums sumPoints(std::size_t first, std::size_t last, std::span<const double> rigidities);

  RigidityGrid<D> grid_;
  std::size_t points_ = 0;

  // These are kept only to avoid new allocations in each evaluation.
  std::vector<double> arrays_;    // [component][array][control point]: filtered values, then covectors
  std::vector<double> gradients_; // [component][condition][control point]
  std::vector<RigiditySums> sums_;
};

}
