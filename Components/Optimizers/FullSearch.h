#pragma once

#include "Components/Optimizers/Shared/DescentSupport.h"

namespace tessera {

/// Evaluates the cost at every point of a grid of some parameters, and takes the best one. The other
/// parameters stay as they are.
///
/// (Optimizer "FullSearch")
class FullSearch final : public Optimizer {
public:
  explicit FullSearch(const Parameters&);

  static const ComponentDescription& description();

  /// "FS0:name:2": the axes of the prepared level in the order of the file, with the numbers of their
  /// parameters.
  std::vector<std::string> columns() const override;
  /// Throws Error(usage) if the transform does not have a parameter that is searched.
  void prepareForLevel(const Context&, std::size_t level, std::size_t parameters) override;
  OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                           const IterationSink&) override;

private:
  struct Axis {
    std::string name;
    std::size_t parameter = 0;
    double first = 0, step = 0;
    std::size_t count = 0;

    double at(std::size_t index) const { return first + static_cast<double>(index) * step; }
  };
  /// The axes of a level in the order of the file.
  std::vector<Axis> readAxes(std::size_t level) const;
  /// Throws Error(usage) if no image, or none of ResultImageFormat, holds the surface of a level.
  void checkSurface(std::size_t level, std::size_t axes) const;

  Parameters parameters_;
  std::vector<std::vector<Axis>> axes_; // of each level
  std::size_t level_ = 0;               // that was prepared last
};

}
