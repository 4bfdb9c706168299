#pragma once

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
class SumSquaredTissueVolumeDifference final : public CostTerm<D> {
public:
  explicit SumSquaredTissueVolumeDifference(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda() const override { return "the metric \"" + description().name + "\""; }
  TermTime timeOf(const TermSize&) const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override {}

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  typename MeanOverSamples<D>::ImageSum sumOfSquares(Context&, const TransformChain<D>&,
                                                     const ListSamples<D>&, const float* fixed,
                                                     std::span<double> gradient) const;

  Parameters parameters_;
  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  double air_ = 0, tissueOverAir_ = 1; // intensities, at this level
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
};

}
