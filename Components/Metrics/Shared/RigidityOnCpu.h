#pragma once

#include "Components/Metrics/Shared/RigidityFormula.h"
#include "Core/Compute/Context.h"

#include <span>
#include <vector>

namespace tessera {

using RigidityWeights = std::array<double, rigidity::conditions>;

/// The sums of TransformRigidityPenalty and its gradient on the CPU. Rows of control points are independent,
/// so results have equal bits for any number of threads.
template <int D>
class RigidityOnCpu {
public:
  explicit RigidityOnCpu(const RigidityGrid<D>& grid);

  /// `rigidities` has a value for each control point. Overwrites the gradient of the penalty, unless it is
  /// empty.
  RigiditySums evaluate(Context&, std::span<const double> coefficients, std::span<const double> rigidities,
                        const RigidityWeights&, std::span<double> gradient);

private:
  RigiditySums sumRow(std::size_t row, std::span<const double> coefficients,
                      std::span<const double> rigidities, bool withGradient);
  void pullBackRow(std::size_t row, const RigidityWeights& factors, std::span<double> gradient,
                   RigiditySums&) const;

  RigidityGrid<D> grid_;
  std::size_t points_ = 0, rowLength_ = 0;

  // These are kept only to avoid new allocations in each evaluation.
  std::vector<double> covectors_; // [component][covector][control point]
  std::vector<RigiditySums> ofRows_;
};

}
