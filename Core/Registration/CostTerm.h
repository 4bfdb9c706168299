#pragma once

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Memory/DeviceMemory.h"
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
  std::size_t asked = 0; // samples inside the fixed mask
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

/// The number of slices of a lattice in each of `slabs` slabs; the last one may have fewer. Slabs change the
/// rounding of sums and nothing else.
template <int D>
std::size_t slicesOfSlab(const VoxelLattice<D>& lattice, std::size_t slabs)
{
  return std::max<std::size_t>(1, (lattice.count[D - 1] + slabs - 1) / slabs);
}

/// A term that is evaluated on a CUDA device. An evaluation has two halves, so that the host waits once for
/// several terms.
template <int D>
class TermOnCuda {
public:
  /// Enqueues an evaluation on the context's stream. The arguments are those of CostTerm::evaluate.
  virtual void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
                       std::span<double> gradient) = 0;
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
  /// Whether TermLevel::points must be given.
  virtual bool needsPoints() const { return false; }
  /// Throws Error(usage) if its parameters cannot be used with the transform that is registered.
  virtual void checkTransform(const Transform<D>&) const {}
  /// Empty if the term runs on CUDA with this chain; otherwise what does not: `the metric "..."`.
  virtual std::string whyNotOnCuda(const TransformChain<D>&) const = 0;
  virtual void prepareForLevel(Context&, const TermLevel<D>&) = 0;
  /// What a level takes of a CUDA device's memory, beside its images and masks.
  virtual DeviceMemory deviceMemory(const TermExtent<D>&) const = 0;
  /// Gives that back, images and masks too.
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
