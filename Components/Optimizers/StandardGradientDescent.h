#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"

namespace tessera {

/// Gradient descent with decaying step sizes a / (A + k + 1)^alpha in iteration k.
///
/// (Optimizer "StandardGradientDescent")
class StandardGradientDescent final : public Optimizer {
public:
  explicit StandardGradientDescent(const Parameters&);

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return {"3:StepSize", "4:||Gradient||"}; }
  void prepareForLevel(const Context& context, std::size_t, std::size_t parameters) override
  {
    vectors_ = makeVectors(context, 1, parameters);
  }
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Level {
    std::int64_t iterations = 0, samplingAttempts = 0;
    DecayingGain gain;
  };
  std::vector<Level> levels_;
};

}
