#pragma once

#include "Components/Metrics/TransformRigidityPenalty.h"
#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {

/// A metric of elastix 3.5 to 4.0, which files for one metric still name: AdvancedMattesMutualInformation +
/// RigidityPenaltyWeight * TransformRigidityPenalty.
template <int D>
class MattesMutualInformationWithRigidityPenalty final : public CostTerm<D>, private TermOnCuda<D> {
public:
  explicit MattesMutualInformationWithRigidityPenalty(const Parameters&);

  static const ComponentDescription& description();

  bool needsSampler() const override { return true; }
  std::vector<TermColumn> columns() const override
  {
    std::vector<TermColumn> columns = penalty_.columns();
    columns.push_back({"Metric-MI", informationValue_});
    columns.push_back({"Metric-RP", penaltyValue_});
    return columns;
  }
  void checkTransform(const Transform<D>& transform) const override { penalty_.checkTransform(transform); }
  std::string whyNotOnCuda() const override { return information_.whyNotOnCuda(); }
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    information_.endLevel();
    penalty_.endLevel();
    penaltyGradient_ = {};
  }
  TermOnCuda<D>* onCuda() override { return information_.onCuda() ? this : nullptr; }

private:
  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void enqueue(Context&, const SampleSet<D>&, std::span<const double> parameters,
               std::span<double> gradient) override;
  TermValue collect(std::span<const double> parameters, std::span<double> gradient) override
  {
    const TermValue information = information_.onCuda()->collect(parameters, gradient);
    return sum(information, penalty_.onCuda()->collect(parameters, penaltyGradient(gradient)),
               !gradient.empty());
  }
  std::span<double> penaltyGradient(std::span<double> gradient)
  {
    return gradient.empty() ? gradient : penaltyGradient_.span();
  }
  TermValue sum(const TermValue& information, const TermValue& penalty, bool withGradient);

  Parameters parameters_;
  ImageTerm<D> information_;
  TransformRigidityPenalty<D> penalty_;
  double weight_ = 1;                              // the penalty's, at this level
  double informationValue_ = 0, penaltyValue_ = 0; // at the last evaluation with a gradient
  Buffer<double> penaltyGradient_;
};

}
