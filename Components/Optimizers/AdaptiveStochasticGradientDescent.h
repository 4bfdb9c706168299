#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"
#include "Components/Optimizers/Shared/StepSizeEstimation.h"

#include <optional>

namespace tessera {

/// Stochastic gradient descent with steps a / (A + t + 1)^alpha, whose time t adapts to the angle between
/// successive gradients (Klein et al., IJCV 2009; pseudo-code in the .cpp file). a, alpha and the sigmoid of
/// the time are estimated at the start of each level unless (AutomaticParameterEstimation "false").
///
/// (Optimizer "AdaptiveStochasticGradientDescent")
class AdaptiveStochasticGradientDescent final : public Optimizer {
public:
  explicit AdaptiveStochasticGradientDescent(const Parameters& parameters)
  {
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      levels_.push_back(readLevel(parameters, level));
  }

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return {"3a:Time", "3b:StepSize", "4:||Gradient||"}; }
  void prepareForLevel(const Context&, std::size_t level, std::size_t parameters) override;
  std::size_t gridSamplesOfLevel(std::size_t level) const override
  {
    return levels_.at(level).automatic ? levels_.at(level).estimation.exactGradientSamples : 0;
  }
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Level {
    std::int64_t iterations = 0, samplingAttempts = 0;
    bool automatic = true, adaptive = true, constantStep = false;
    double initialTime = 0;
    StepSizes given;             // used if not automatic
    StepSizeSettings estimation; // used if automatic
    /// MaximumStepLength if given; otherwise the largest step is maximumStepRatio times the images' spacing.
    std::optional<double> maximumStepMm;
    double maximumStepRatio = 1;
    double maximumStep(const CostFunction& cost) const
    {
      return maximumStepMm.value_or(maximumStepRatio * cost.meanInPlaneSpacingMm());
    }
  };

  static Level readLevel(const Parameters&, std::size_t level);
  EstimatedSteps stepSizes(const Level&, CostFunction&, std::span<const double> position);

  std::vector<Level> levels_;
};

}
