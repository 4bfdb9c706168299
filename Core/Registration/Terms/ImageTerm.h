#pragma once

#include "Core/Registration/Metric.h"
#include "Core/Registration/TermMemory.h"
#include "Core/Registration/Terms/DenseImageTerm.h"
#include "Core/Registration/Terms/LatticeImageTerm.h"
#include "Core/Registration/Terms/PointImageTerm.h"
#include "Core/Registration/Terms/TermOnImages.h"

#include <memory>

namespace tessera {

/// A metric between the fixed image and the moving image under the chain. The chain rule is written here once
/// for every metric of either kind:
///
/// d value / d parameters = sum over samples of J^T (slope * gradient of the moving image),
///
/// with J, the derivative of the last transform by its parameters, taken at T0(x) if that transform is
/// composed with the ones before (T0), and at x if it is added to them. Pass 1 gives the metric all
/// intensities, pass 2 takes its slopes back to the parameters.
template <int D>
class ImageTerm final : public TermOnImages<D>, public TermTellsMemory {
public:
  ImageTerm(const Parameters&, std::unique_ptr<Metric>);

  bool needsLattice() const override { return latticeMetric_ != nullptr; }
  std::string whyNotOnCuda() const override { return metric_->whyNotOnCuda(); }
  double workOfSample(double) const override { return latticeMetric_ ? 4 : 1; } // each sees its neighbours
  double hostBytes(const TermExtent&) const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override;

private:
  using TermOnImages<D>::level_;
  using TermOnImages<D>::onCuda_;

  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  std::vector<Phase> timePhasesHere(Context& context, const SampleSet<D>& samples,
                                    std::span<const double> parameters, std::span<double> gradient) override
  {
    const FieldMethod<D>* const field = fields_->at(samples);
    if (onLattice_)
      return onLattice_->timePhases(context, {std::get<VoxelLattice<D>>(samples), field, parameters},
                                    gradient);
    if (field)
      return dense_->timePhases(context, {std::get<VoxelLattice<D>>(samples), field, parameters}, gradient);
    return points_->timePhases(context, {samples, parameters}, gradient);
  }

  using LatticeTarget = typename WarpedLattice<D>::Target;
  using PointTarget = typename PointImageTerm<D>::Target;

  Parameters parameters_;
  std::unique_ptr<Metric> metric_;
  PairMetric* pairMetric_ = nullptr; // metric_ if it is of this kind
  LatticeMetric* latticeMetric_ = nullptr;
  // In levels on the CPU there are fields_ and, for a metric of pairs, the next two; else the last one.
  std::optional<FieldOfLattice<D>> fields_;
  std::optional<DenseImageTerm<D>> dense_; // for samples of which fields_ knows a field
  std::optional<PointImageTerm<D>> points_;
  std::optional<LatticeImageTerm<D>> onLattice_;
};

/// Parameters that every image metric reads; a metric's description has them after its own.
std::vector<ParameterInfo> imageTermParameters();

}
