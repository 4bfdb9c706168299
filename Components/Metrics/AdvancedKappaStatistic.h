#pragma once

#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

namespace tessera {

/// The overlap of the foregrounds of two images, as elastix computes it (Zijdenbos et al., "Morphometric
/// analysis of white matter lesions in MR images", 1994). Of the samples A_f are in the fixed foreground, A_m
/// in the moving one, and I in both; with S = A_f + A_m the value is 1 - 2 I / S. (UseComplement "false")
/// makes it 2 I / S.
///
/// Counts have no derivative. elastix takes this for one, with g = J^T d of a sample:
///
///   -2 / S * (sum of g over the fixed foreground) + 2 I / S^2 * (sum of g over all samples)
///
/// Along each index axis of the moving image d is 1 at the nearest voxel if the next voxel is in the
/// foreground and the one before is not, -1 if it is the other way round, and else 0. Spacing and direction
/// of the image do not enter. SoftDice has a true derivative.
template <int D>
class AdvancedKappaStatistic final : public CostTerm<D> {
public:
  explicit AdvancedKappaStatistic(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::string whyNotOnCuda() const override { return "the metric \"" + description().name + "\""; }
  TermTime timeOf(const TermSize&) const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override {}

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  bool isForeground(float intensity) const;
  double edgeAlong(int axis, const Size<D>& voxel) const;

  Parameters parameters_;
  ValidSampleRule validSampleRule_;
  TermLevel<D> level_;
  bool usesForegroundValue_ = true, isComplement_ = true; // at this level
  double foregroundValue_ = 1;
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
};

}
