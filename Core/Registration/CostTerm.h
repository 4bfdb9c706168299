#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/Phase.h"
#include "Core/Registry/Registry.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct TermValue {
  double value = 0;
  std::size_t valid = 0; // samples that counted
  std::size_t asked = 0; // samples inside the fixed mask
};

/// Samples that a term will be evaluated on during a level.
template <int D>
struct ExpectedSamples {
  std::optional<VoxelLattice<D>> lattice; // none: a list of points
  std::size_t positions = 0;              // of a list at most
  bool withGradient = true;               // no: for the value alone

  ExpectedSamples(const SampleSet<D>& samples, bool forGradient)
      : positions(positionCount<D>(samples)), withGradient(forGradient)
  {
    if (const auto* voxels = std::get_if<VoxelLattice<D>>(&samples))
      lattice = *voxels;
  }
};

/// The data that one term of the cost works on during a level. Pointers are valid as long as the level.
template <int D>
struct TermLevel {
  std::size_t level = 0;
  ImagePointer<D> fixed, moving;
  MaskPointer<D> fixedMask, movingMask;          // null: none; already eroded
  const Interpolator<D>* interpolator = nullptr; // prepared for `moving`
  /// Its last parameters are those of the stage; evaluate() uses its argument instead.
  const TransformChain<D>* chain = nullptr;
  const PointPairs<D>* points = nullptr; // -fp, -mp; null: none
  const Registry* registry = nullptr;    // has the field interpolators; null: points are mapped one by one
  std::size_t slabs = 1;                 // in which a CUDA device handles a lattice; 1: as a whole
  std::vector<ExpectedSamples<D>> expected = {}; // on a CUDA device; those of the evaluations may be others
  // Whether the expected lattices may become smaller: their fixed mask is not read yet, or not eroded.
  bool maskMayCrop = false;
  ReadingOptions reading = {}; // of images that the term reads itself
};

/// The number of slices of a lattice in each of `slabs` slabs; the last one may have fewer. Slabs change the
/// rounding of sums and nothing else.
template <int D>
std::size_t slicesOfSlab(const VoxelLattice<D>& lattice, std::size_t slabs)
{
  return std::max<std::size_t>(1, (lattice.count[D - 1] + slabs - 1) / slabs);
}

/// A column that a term adds to the iteration table, with its value at the last evaluation with a gradient.
struct TermColumn {
  std::string name;
  double value = 0;
};

/// A term that is evaluated on a CUDA device. An evaluation has two halves, so that the host waits once for
/// several terms.
template <int D>
class TermOnCuda {
public:
  /// The number of evaluations that may be enqueued before they are collected.
  virtual std::size_t mostInFlight() const { return 1; }
  /// Chooses the evaluation that the next calls of enqueue and collect are about, below mostInFlight().
  virtual void useSlot(std::size_t) {}
  /// Enqueues an evaluation on the context's stream. The arguments are those of CostTerm::evaluate.
  virtual void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
                       std::span<double> gradient) = 0;
  /// Whether what enqueue starts reads parameters, and arrays that no other term writes, so that it may run
  /// beside the work of others.
  virtual bool isApart() const { return false; }
  /// Call it after the stream's wait. Returns the value, and writes the gradient if that lies on the host.
  virtual TermValue collect(std::span<const double> parameters, std::span<double> gradient) = 0;

protected:
  ~TermOnCuda() = default;
};

/// One term of the cost: an image metric, or a penalty on the transform. In files it is a (Metric "...").
template <int D>
class CostTerm {
public:
  static constexpr const char* roleName = "Metric";
  virtual ~CostTerm() = default;

  virtual bool needsSampler() const = 0;
  /// Whether its samples must be a lattice: those of a sampler with givesLattice().
  virtual bool needsLattice() const { return false; }
  /// Whether its gradient is far larger at some transforms than at those nearby. Step sizes that were
  /// estimated elsewhere do not fit there, so that optimizers that estimate theirs bound the steps.
  virtual bool isSteep() const { return false; }
  /// Whether TermLevel::points must be given.
  virtual bool needsPoints() const { return false; }
  /// The columns that it adds to the iteration table, under the names that elastix gives them.
  virtual std::vector<TermColumn> columns() const { return {}; }
  /// Throws Error(usage) if its parameters cannot be used with the transform that is registered.
  virtual void checkTransform(const Transform<D>&) const {}
  /// Empty if the term runs on CUDA where its chain does; otherwise what does not: `the metric "..."`.
  virtual std::string whyNotOnCuda() const = 0;
  /// Whether it evaluates the chain on CUDA by ChainPasses alone, and by no kernels of its own.
  virtual bool needsPassesAlone() const { return false; }
  /// About how many times as long as mutual information the CPU takes for a sample of so many, by which
  /// "auto" chooses a device.
  virtual double workOfSample(double /*samples*/) const { return 1; }
  /// Takes all the memory of a CUDA device that evaluations on the expected samples need. On the context of a
  /// MemoryCount images and masks may come without voxels.
  virtual void prepareForLevel(Context&, const TermLevel<D>&) = 0;
  /// Releases what prepareForLevel took, and the images and masks.
  virtual void endLevel() = 0;

  /// Returns the value over `samples` for the `parameters` of the chain's last transform, and overwrites
  /// `gradient` unless it is empty. Both lie where vectorContext(context, last transform) says. Throws
  /// Error(registrationFailed) if too few samples are valid.
  TermValue evaluate(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
                     std::span<double> gradient)
  {
    TermOnCuda<D>* const term = onCuda();
    if (!term)
      return evaluateHere(context, samples, parameters, gradient);
    term->enqueue(context, samples, parameters, gradient);
    context.stream->wait();
    return term->collect(parameters, gradient);
  }
  /// Null if the level was prepared for the CPU, or if the term has no work for the device at this level.
  virtual TermOnCuda<D>* onCuda() { return nullptr; }

  /// Does one more evaluation, or a part that is typical of it, and times its parts one after the other. On
  /// CUDA a term without parts returns one part without a name. On the CPU it returns none, because its whole
  /// evaluations can be timed.
  virtual std::vector<Phase> timePhases(Context& context, const SampleSet<D>& samples,
                                        std::span<const double> parameters, std::span<double> gradient)
  {
    if (!context.onCuda())
      return {};
    context.stream->startTimer();
    if (TermOnCuda<D>* const term = onCuda())
      term->enqueue(context, samples, parameters, gradient);
    else
      evaluateHere(context, samples, parameters, gradient);
    return {{"", context.stream->stopTimerMilliseconds()}};
  }

protected:
  /// Does the work of evaluate() if there is no TermOnCuda.
  virtual TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                 std::span<double> gradient) = 0;
};

}
