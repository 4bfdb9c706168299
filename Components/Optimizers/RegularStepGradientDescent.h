#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"

namespace tessera {

/// Gradient descent with steps of fixed length in parameter space. The length is multiplied by
/// RelaxationFactor when the direction turns by more than 90 degrees. The samples stay those of the level's
/// start.
///
/// (Optimizer "RegularStepGradientDescent")
class RegularStepGradientDescent final : public Optimizer {
public:
  explicit RegularStepGradientDescent(const Parameters&);

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return {"3:StepSize", "4:||Gradient||"}; }
  void prepareForLevel(const Context& context, std::size_t, std::size_t parameters) override
  {
    vectors_ = makeVectors(context, 4, parameters);
  }
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Level {
    std::int64_t iterations = 0;
    double minimumGradientMagnitude = 0, maximumStepLength = 0, minimumStepLength = 0, relaxationFactor = 0;
  };
  std::vector<Level> levels_;
};

}
