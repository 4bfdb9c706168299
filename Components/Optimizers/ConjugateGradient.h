#pragma once

#include "Components/Optimizers/Shared/LineSearchRows.h"

namespace tessera {

/// Nonlinear conjugate gradients (Hager and Zhang, "A survey of nonlinear conjugate gradient methods", 2006;
/// pseudo-code in the .cpp file). It is meant for costs without noise: samples that stay the same, or many
/// samples.
///
/// (LineSearch "MoreThuente") is that of elastix. (LineSearch "BoundedStep") evaluates values without
/// gradients, and no step changes a parameter by more than MaximumStepLength (Modat et al., "Fast free-form
/// deformation using graphics processing units", 2010). (LineSearch "BoundedParabola") has such steps, too,
/// and goes to the least points of parabolas, which takes fewer values.
///
/// (Optimizer "ConjugateGradient")
class ConjugateGradient final : public Optimizer {
public:
  explicit ConjugateGradient(const Parameters& parameters)
  {
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      levels_.emplace_back(parameters, level);
  }

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return lineSearchColumns(); }
  void prepareForLevel(const Context& context, std::size_t, std::size_t parameters) override
  {
    vectors_ = makeVectors(context, 4, parameters);
  }
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  enum class Beta {
    steepestDescent,
    fletcherReeves,
    polakRibiere,
    daiYuan,
    hestenesStiefel,
    daiYuanHestenesStiefel
  };
  struct Level : LineSearchLevel {
    Beta beta = Beta::daiYuanHestenesStiefel;
    bool boundedStep = false, parabola = false; // parabola: one of the two that bound steps
    std::optional<double> maximumStep;          // in mm; without a value, the mean spacing of the images
    double valueTolerance = 0;

    Level(const Parameters&, std::size_t level);
  };

  class Run;
  std::vector<Level> levels_;
};

}
