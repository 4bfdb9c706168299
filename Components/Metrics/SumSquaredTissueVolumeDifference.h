#pragma once

#include "Components/Metrics/Shared/JetPenaltyOnCuda.h"
#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

namespace tessera {

/// Mean squared difference of tissue volumes in CT of lungs. Air that is breathed in lets a voxel grow and
/// its intensity fall, but keeps its tissue. Yin et al., "Mass preserving nonrigid registration of CT lung
/// images using cubic B-spline", 2009. With fixed and moving intensities f and m(T(x)), and D = det
/// dT/dx of the whole chain:
///
///   ((f - AirValue) - D (m - AirValue)) / (TissueValue - AirValue), squared; mean over the samples
template <int D>
class SumSquaredTissueVolumeDifference final : public CostTerm<D>, private TermOnCuda<D> {
public:
  explicit SumSquaredTissueVolumeDifference(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda() const override { return ""; }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override { penaltyOnCuda_.reset(); }
  TermOnCuda<D>* onCuda() override { return penaltyOnCuda_ ? this : nullptr; }

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context& context, const SampleSet<D>& samples, std::span<const double> parameters,
               std::span<double> gradient) override
  {
    penaltyOnCuda_->enqueue(context, samples, parameters, gradient);
  }
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    return validSampleRule_.checked(level_.level, penaltyOnCuda_->collect(parameters, gradient));
  }
  typename MeanOverSamples<D>::ImageSum sumOfSquares(Context&, const TransformChain<D>&,
                                                     const ListSamples<D>&, const float* fixed,
                                                     std::span<double> gradient) const;

  Parameters parameters_;
  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  TissueVolumes formula_; // at this level
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
  std::optional<JetPenaltyOnCuda<D>> penaltyOnCuda_; // none: on the CPU
};

}
