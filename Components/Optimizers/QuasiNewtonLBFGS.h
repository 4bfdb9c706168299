#pragma once

#include "Components/Optimizers/Shared/LineSearchRows.h"

namespace tessera {

/// Limited-memory quasi-Newton method (Nocedal, "Updating quasi-Newton matrices with limited storage", 1980;
/// pseudo-code in the .cpp file) with the line search of More and Thuente. It is meant for costs without
/// noise: samples that stay the same, or many samples.
///
/// (Optimizer "QuasiNewtonLBFGS")
class QuasiNewtonLBFGS final : public Optimizer {
public:
  explicit QuasiNewtonLBFGS(const Parameters& parameters)
  {
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      levels_.emplace_back(parameters, level);
  }

  static const ComponentDescription& description();

  std::vector<std::string> columns() const override { return lineSearchColumns(); }
  void prepareForLevel(const Context&, std::size_t level, std::size_t parameters) override;
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Level : LineSearchLevel {
    std::size_t memory = 0;

    Level(const Parameters&, std::size_t level);
  };

  class Run;
  std::vector<Level> levels_;
};

}
