#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"
#include "Components/Optimizers/Shared/StepSizeEstimation.h"

#include <optional>

namespace tessera {

/// Stochastic gradient descent whose steps follow an adaptive time (Klein et al., IJCV 2009; Cruz's
/// acceleration): y_{k+1} = y_k - a / (A + t_k + 1)^alpha g_k,   t_{k+1} = max(0, t_k + f(-g_k . g_{k-1})), f
/// a sigmoid through 0.
///
/// a, alpha and the sigmoid are estimated at the start of each level unless (AutomaticParameterEstimation
/// "false"). (Optimizer "AdaptiveStochasticGradientDescent")
class AdaptiveStochasticGradientDescent final : public Optimizer {
public:
  explicit AdaptiveStochasticGradientDescent(const Parameters&);

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return {"3a:Time", "3b:StepSize", "4:||Gradient||"}; }
  void prepareForLevel(const Context&, std::size_t level, std::size_t parameters) override;
  std::size_t gridSamplesOfLevel(std::size_t level) const override;
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Level {
    std::int64_t iterations = 0, samplingAttempts = 0;
    bool automatic = true, adaptive = true, constantStep = false;
    double initialTime = 0;
    StepSizes given;                     // if not automatic
    StepSizeSettings estimation;         // if automatic
    std::optional<double> maximumStepMm; // if given; otherwise the ratio times the images' spacing
    double maximumStepRatio = 1;
  };

  static Level readLevel(const Parameters&, std::size_t level);
  EstimatedSteps stepSizes(const Level&, CostFunction&, std::span<const double> position);

  std::vector<Level> levels_;
};

}
