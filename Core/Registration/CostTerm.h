#pragma once

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/Stream.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/Phase.h"
#include "Core/Registry/Registry.h"

#include <algorithm>
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
  const TransformChain<D>* chain =
      nullptr; // its last parameters are those of the stage; the argument of evaluate wins
  const PointPairs<D>* points = nullptr; // -fp, -mp; null: none
  const Registry* registry = nullptr;    // for field interpolators; null: points are mapped one by one
  std::size_t slabs = 1;                 // of slices that a CUDA device takes lattices in; 1: whole
};

/// What a term will work on, by sizes alone.
template <int D>
struct TermExtent {
  std::size_t level = 0;
  const TransformChain<D>* chain = nullptr; // as the level will have it; parameters may be missing
  std::size_t listedSamples = 0;            // at most
  std::vector<VoxelLattice<D>>
      lattices; // those that it is evaluated on with a gradient; their image is without voxels
  std::vector<VoxelLattice<D>> valueLattices; // and for its value alone
  bool maskMayCrop = false;                   // those by a fixed mask that is not read yet, or not eroded
  bool movingMasked = false;
  std::size_t slabs = 1;
  std::size_t pointPairs = 0;
  const Registry* registry = nullptr;
};

/// Slices of the last axis of a lattice that go at a time if it is taken in so many slabs; the last slab may
/// have fewer. Slabs change how sums are rounded, and nothing else.
template <int D>
std::size_t slicesOfSlab(const VoxelLattice<D>& lattice, std::size_t slabs)
{
  return std::max<std::size_t>(1, (lattice.count[D - 1] + slabs - 1) / slabs);
}

/// A term whose evaluations run on a CUDA device, in two halves so that several terms wait for it once.
template <int D>
class TermOnCuda {
public:
  /// Enqueues an evaluation on the context's stream. Arguments as those of CostTerm::evaluate.
  virtual void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
                       std::span<double> gradient) = 0;
  /// The value after the stream's wait, and the gradient if it lies on the host.
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
  /// Whether TermLevel::points must be given.
  virtual bool needsPoints() const { return false; }
  /// Throws Error(usage) if its parameters do not suit the transform that is registered.
  virtual void checkTransform(const Transform<D>&) const {}
  /// Empty if it runs on CUDA with this chain; otherwise what does not: `the metric "..."`.
  virtual std::string whyNotOnCuda(const TransformChain<D>&) const = 0;
  virtual void prepareForLevel(Context&, const TermLevel<D>&) = 0;
  /// What a level takes of a CUDA device's memory, beside its images and masks.
  virtual DeviceMemory deviceMemory(const TermExtent<D>&) const = 0;
  /// Gives that back, images and masks too.
  virtual void endLevel() = 0;

  /// Value at `parameters` (of the chain's last transform) over `samples` and, unless empty, its gradient
  /// (overwritten). Both lie where vectorContext(context, last transform) says. Throws
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
  /// Null if the level was prepared for the CPU, or if the term has no work for the device there.
  virtual TermOnCuda<D>* onCuda() { return nullptr; }

  /// Does one more evaluation, or a part that stands for all of it, and times its parts one after the other.
  /// A term that is not divided has one part without a name on CUDA, and none on the CPU, where its
  /// evaluations are not mixed with those of others.
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
  /// evaluate() where there is no TermOnCuda.
  virtual TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                                 std::span<double> gradient) = 0;
};

}
