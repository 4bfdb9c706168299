#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/OptimizableTransform.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The cost as an optimizer sees it, in scaled space: y_i = x_i sqrt(scale_i), so gradients are divided by
/// sqrt(scale_i). Positions and gradients lie on the device of context(); optimizers touch them through
/// Core/Compute/Vectors/VectorOps.h alone.
class CostFunction {
public:
  virtual ~CostFunction() = default;

  virtual const Context& context() const = 0;
  virtual std::size_t parameterCount() const = 0;
  /// 1 / sqrt(scale_i), on the device of context(). Parameter x_i is y_i times this number.
  virtual std::span<const double> inverseRootScales() const = 0;

  /// Value over the current samples and, unless empty, the gradient. Throws Error(registrationFailed) if too
  /// few samples are valid.
  virtual double evaluate(std::span<const double> position, std::span<double> gradient) = 0;
  /// Evaluates, and finds the products of pairs of vectors, of which the gradient may be one. On a CUDA
  /// device the host waits once for all of it.
  virtual double evaluateWithProducts(std::span<const double> position, std::span<double> gradient,
                                      std::span<const VectorPair> pairs, std::vector<double>& products)
  {
    const double value = evaluate(position, gradient);
    products = dots(context(), pairs);
    return value;
  }

  /// Position i, which stays as it is until the next call.
  using PositionAt = std::function<std::span<const double>(std::size_t i)>;
  /// Takes the value at the next position; false ends the evaluation.
  using TakeValue = std::function<bool(double value)>;
  /// Evaluates up to `count` positions, several at a time, and gives their values in order. They are those of
  /// evaluate. It ends before a position at which too few samples are valid, and does nothing if the cost
  /// evaluates one position at a time, or new samples are due at each.
  virtual void evaluateSeveral(std::size_t /*count*/, const PositionAt&, const TakeValue&) {}

  /// Draws new samples for an iteration and an attempt. Samplers that always give the same samples do
  /// nothing.
  virtual void drawSamples(std::uint32_t iteration, std::uint32_t attempt) = 0;
  /// True if NewSamplesEveryIteration is set for the level and a sampler is random.
  virtual bool samplesAreRandom() const = 0;
  virtual bool newSamplesEveryIteration() const = 0;
  /// Whether a term is steep (CostTerm::isSteep).
  virtual bool isSteep() const { return false; }
  /// Switches UseRandomSampleRegion of all samplers on or off. It is off while step sizes are estimated.
  /// Returns whether it was on.
  virtual bool setRandomRegion(bool on) = 0;

  // The following serve the estimation of step sizes.
  /// Mean spacing (mm) of the first two axes of the full-resolution fixed and moving images.
  virtual double meanInPlaneSpacingMm() const = 0;
  /// Like evaluate, but over a grid of about `wanted` samples of the level in place of the sampler's samples.
  virtual double evaluateOnGrid(std::size_t wanted, std::span<const double> position,
                                std::span<double> gradient) = 0;
  /// The Jacobian terms on a grid of about `wanted` samples of the level, with J scaled. `samplesFound`
  /// receives the number of samples.
  virtual JacobianTerms jacobianTerms(std::size_t wanted, std::span<const double> position,
                                      std::size_t& samplesFound) = 0;
  /// |J_j g| in mm for each sample j of a grid of about `wanted` samples; g is a gradient in scaled space.
  virtual std::vector<double> displacementsMm(std::size_t wanted, std::span<const double> position,
                                              std::span<const double> gradient) = 0;
  /// The key of the level's random numbers; the caller sets the iteration.
  virtual Draw draw() const = 0;
  /// A line for the log ("Computing JacobianTerms ...").
  virtual void log(const std::string& line) = 0;
  /// Whether the level is to end here, because it has converged or because the user wants the run to end.
  /// Optimizers ask after each iteration.
  virtual bool isStopAsked() const { return false; }
};

/// One row of the iteration table; columns are named by Optimizer::columns.
struct IterationRow {
  std::size_t iteration = 0;
  double value = 0;
  std::vector<double> columns;          // the values after ItNr and Metric
  std::vector<std::string> textColumns; // texts after the numbers, which line searches have
  bool isTrial = false;                 // a step that a line search tried, not the end of an iteration
};

/// Values of the cost on a grid of parameters, the first axis fastest.
struct OptimizationSurface {
  std::vector<std::size_t> size; // points along each axis; empty: there is no such grid
  std::vector<float> values;
};

struct OptimizerReport {
  std::size_t iterations = 0;
  double value = 0; // the cost at the last iteration
  std::string stopCondition;
  std::vector<FileEntry> settings; // "SP_a 1389.8" lines for the log
  OptimizationSurface surface;     // of an optimizer that searches a grid, if the parameters ask for it
  bool wasStopped = false;         // whether CostFunction::isStopAsked ended the level early
};

/// Called after each iteration with the position that the iteration reached.
using IterationSink = std::function<void(const IterationRow&, std::span<const double> position)>;

/// `count` vectors of one length on the context's device; their numbers are not set.
inline std::vector<Buffer<double>> makeVectors(const Context& context, std::size_t count, std::size_t length)
{
  std::vector<Buffer<double>> vectors;
  for (std::size_t i = 0; i < count; ++i)
    vectors.emplace_back(context, length);
  return vectors;
}

class Optimizer {
public:
  static constexpr const char* roleName = "Optimizer";
  virtual ~Optimizer() = default;

  /// Names of the columns after 1:ItNr and 2:Metric, as elastix writes them: "3a:Time", "4:||Gradient||".
  /// They are those of the level that was prepared last.
  virtual std::vector<std::string> columns() const = 0;
  /// Allocates all vectors that minimize uses at a level, each as long as the position, on the context's
  /// device.
  virtual void prepareForLevel(const Context&, std::size_t level, std::size_t parameters) = 0;
  /// Releases these vectors.
  void endLevel() { vectors_.clear(); }
  /// About how many samples minimize wants from CostFunction::evaluateOnGrid at a level; 0 if it never calls
  /// it.
  virtual std::size_t gridSamplesOfLevel(std::size_t /*level*/) const { return 0; }
  /// Minimizes the cost over one level and changes `position` in place. Call it after prepareForLevel for
  /// this level and the cost's context. If the cost's isStopAsked is true after an iteration, it returns at
  /// once with OptimizerReport::wasStopped.
  virtual OptimizerReport minimize(CostFunction&, std::size_t level, Buffer<double>& position,
                                   const IterationSink&) = 0;

protected:
  /// Allocated while a level is prepared; only prepareForLevel adds to it.
  std::vector<Buffer<double>> vectors_;
};

}
