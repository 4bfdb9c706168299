#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Terms/ImageTermOnCuda.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <memory>

namespace tessera {

/// A term that compares the fixed and the moving image at samples. On a CUDA device an ImageTermOnCuda does
/// its work. Both devices check that enough samples are valid.
template <int D>
class TermOnImages : public CostTerm<D>, private TermOnCuda<D> {
public:
  bool needsSampler() const override { return true; }
  bool needsPassesAlone() const override { return true; }
  void endLevel() override { onCuda_.reset(); }
  TermOnCuda<D>* onCuda() override { return onCuda_ ? this : nullptr; }
  std::vector<Phase> timePhases(Context& context, const SampleSet<D>& samples,
                                std::span<const double> parameters, std::span<double> gradient) override
  {
    return onCuda_ ? onCuda_->timePhases(context, samples, parameters, gradient)
                   : timePhasesHere(context, samples, parameters, gradient);
  }

protected:
  explicit TermOnImages(const Parameters& parameters) : validSampleRule_(parameters) {}

  /// Throws Error(registrationFailed) if too few samples are valid.
  void checkValid(std::size_t valid, std::size_t asked) const
  {
    validSampleRule_.check(level_.level, valid, asked);
  }
  /// timePhases of a level on the CPU.
  virtual std::vector<Phase> timePhasesHere(Context&, const SampleSet<D>&,
                                            std::span<const double> /*parameters*/,
                                            std::span<double> /*gradient*/)
  {
    return {};
  }

  TermLevel<D> level_;
  std::unique_ptr<ImageTermOnCuda<D>> onCuda_; // null unless the level runs on a CUDA device

private:
  std::size_t mostInFlight() const override { return ImageTermOnCuda<D>::mostInFlight; }
  void useSlot(std::size_t slot) override { onCuda_->useSlot(slot); }
  void enqueue(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    onCuda_->enqueue(context, samples, parameters, gradient);
  }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    const TermValue result = onCuda_->collect(parameters, gradient);
    checkValid(result.valid, result.asked);
    return result;
  }

  ValidSampleRule validSampleRule_;
};

}
