#pragma once

#include "Core/Compute/Stream.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <span>
#include <string>
#include <vector>

namespace tessera {

struct TermValue {
  double value = 0;
  std::size_t valid = 0; // samples that counted
  std::size_t asked = 0; // samples offered inside the fixed mask
};

/// What one term of the cost works on during a level. Pointers live as long as the level.
template <int D>
struct TermLevel {
  std::size_t level = 0;
  ImagePointer<D> fixed, moving;
  MaskPointer<D> fixedMask, movingMask;          // null: none; already eroded
  const Interpolator<D>* interpolator = nullptr; // of `moving`
  const TransformChain<D>* chain = nullptr;      // its last parameters are those of the stage; the argument of evaluate wins
  const PointPairs<D>* points = nullptr;         // -fp, -mp; null: none
  const Registry* registry = nullptr;            // for field interpolators; null: points are mapped one by one
};

/// What one part of an evaluation took, by the device's clock.
struct Phase {
  std::string name; // transform, interpolation, metric, pull-back
  double milliseconds = 0;
};

/// One term of the cost: an image metric, or a penalty on the transform. In files it is a (Metric "...").
template <int D>
class CostTerm {
public:
  static constexpr const char* roleName = "Metric";
  virtual ~CostTerm() = default;

  virtual bool needsSampler() const = 0;
  /// Whether TermLevel::points must be given.
  virtual bool needsPoints() const { return false; }
  /// Empty if it runs on CUDA with this chain; otherwise what does not: `the metric "..."`.
  virtual std::string whyNotOnCuda(const TransformChain<D>&) const = 0;
  virtual void prepareForLevel(Context&, const TermLevel<D>&) = 0;

  /// Value at `parameters` (of the chain's last transform) over `samples` and, unless empty, its gradient (overwritten). Both lie
  /// where vectorContext(context, last transform) says.
  /// Throws Error(registrationFailed) if too few samples are valid.
  virtual TermValue evaluate(Context&, const SampleSet<D>& samples, std::span<const double> parameters,
                             std::span<double> gradient) = 0;

  /// evaluate in two halves, so that several terms wait for a CUDA device once: the first gives the work, and after the stream's
  /// wait the second has the value, and the gradient if it is on the host.
  virtual void give(Context& context, const SampleSet<D>& samples, std::span<const double> parameters, std::span<double> gradient)
  {
    given_ = evaluate(context, samples, parameters, gradient);
  }
  virtual TermValue take(std::span<const double> /*parameters*/, std::span<double> /*gradient*/) { return given_; }

  /// One more evaluation with its gradient, its parts timed one after the other; nothing on the CPU.
  virtual std::vector<Phase> timePhases(Context&, const SampleSet<D>&, std::span<const double> /*parameters*/,
                                        std::span<double> /*gradient*/)
  {
    return {};
  }

protected:
  /// evaluate of a term whose work runs on a CUDA device.
  TermValue giveAndTake(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
                        std::span<double> gradient)
  {
    give(context, samples, parameters, gradient);
    context.stream->wait();
    return take(parameters, gradient);
  }

private:
  TermValue given_;
};

}
