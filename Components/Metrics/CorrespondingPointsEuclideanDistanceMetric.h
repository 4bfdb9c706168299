#pragma once

#include "Components/Metrics/Shared/DistancesOnCuda.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/CostTerm.h"

namespace tessera {

/// Mean distance in mm between mapped points of the fixed image and their partners in the moving image (-fp,
/// -mp), weighted by --point-weights. With a (PointErrorInMm e) distances well below e count little
/// (PairDistance of Shared/DistanceKernels.h says how). Pairs whose mapped point lies outside the moving mask
/// are left out. A pair at distance 0 adds nothing to the gradient.
template <int D>
class CorrespondingPointsEuclideanDistanceMetric final : public CostTerm<D> {
public:
  explicit CorrespondingPointsEuclideanDistanceMetric(const Parameters&);

  static const ComponentDescription& description();

  bool needsPoints() const override { return true; }
  bool needsSampler() const override { return false; }
  std::string whyNotOnCuda() const override { return ""; }
  /// Throws Error(usage) if no points were given.
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override { onCuda_.reset(); }
  TermOnCuda<D>* onCuda() override { return onCuda_.get(); }

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;

  Parameters parameters_;
  std::vector<double> errorsMm_; // one a level
  TermLevel<D> level_;
  ChainAtParameters<D> chain_;
  std::unique_ptr<CorrespondingPointsOnCuda<D>> onCuda_; // null: on the CPU
};

}
