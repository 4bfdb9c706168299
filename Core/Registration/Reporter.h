#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Optimizer.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// One row of a level's iteration table.
struct IterationRecord {
  std::size_t iteration = 0;
  double value = 0;
  /// Makes the cells, in the order of the header that levelStarted gave. Call it at most once.
  std::function<std::vector<std::string>()> cells;
};

/// How long a part of a level took, and on which device it ran.
struct TimeRow {
  std::string part;
  double milliseconds = 0;
  std::string device;
  // A part of evaluations has how often it ran, and its share of the shortest and of the longest one.
  std::size_t launches = 0;
  double leastMilliseconds = 0, mostMilliseconds = 0;
};

/// "cpu", "cuda:0"
inline std::string deviceName(const Device& device)
{
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(device.ordinal);
}

struct LevelSummary {
  std::size_t level = 0;
  std::size_t iterations = 0;
  double startValue = 0;     // the cost at the first iteration
  double value = 0;          // the cost at the last evaluated iteration
  std::vector<double> curve; // the cost at each iteration
  double seconds = 0;        // for preparation and iterations
  double preparationSeconds = 0;
  std::string stopCondition;
  std::vector<FileEntry> settings; // with which the optimizer ran, given or estimated
  OptimizationSurface surface;     // see OptimizerReport
  std::size_t evaluations = 0, evaluationsWithGradient = 0;
  std::vector<std::vector<Phase>> phases; // one evaluation with its gradient, for each term; empty on the CPU
  std::vector<TimeRow> time;              // adds up to `seconds`
  double deviceBytesPlanned = 0, deviceBytesTaken = 0; // on a CUDA device; planned is 0 without a plan
  std::size_t slabs = 1;
  bool endedInTime = false; // by StageInput::deadline
};

/// Listens to a running stage: nothing that a reporter does changes what the stage does next.
template <int D>
class Reporter {
public:
  virtual ~Reporter() = default;

  /// The images of the level that each metric compares; metrics may share images.
  virtual void pyramidImages(std::size_t /*level*/, const std::vector<ImagePointer<D>>& /*fixed*/,
                             const std::vector<ImagePointer<D>>& /*moving*/)
  {
  }
  /// `header` is "1:ItNr", "2:Metric", ... in elastix's order.
  virtual void levelStarted(std::size_t /*level*/, const std::vector<std::string>& /*header*/) {}
  /// Makes the chain with the parameters that an iteration reached, which may have to be copied from a CUDA
  /// device.
  using ReachedChain = std::function<TransformChain<D>()>;
  virtual void iterationDone(std::size_t /*level*/, const IterationRecord&, const ReachedChain&) {}
  virtual void levelFinished(const LevelSummary&, const TransformChain<D>& /*chain*/) {}
};

}
