#include "Components/Metrics/MattesMutualInformationWithRigidityPenalty.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Chain/ChainPasses.h"

namespace tessera {
namespace {

const Parameter<double> rigidityPenaltyWeight =
    realParameter("RigidityPenaltyWeight", 1, Arity::perLevel, "", "weight of the rigidity penalty");

Parameter<bool> useImage(const std::string& side)
{
  return booleanParameter("Use" + side + "RigidityImage", true, Arity::single,
                          "whether " + side + "RigidityImageName is read");
}

}

template <int D>
MattesMutualInformationWithRigidityPenalty<D>::MattesMutualInformationWithRigidityPenalty(
    const Parameters& parameters)
    : parameters_(parameters),
      information_(parameters, makeMetric<AdvancedMattesMutualInformation>(parameters)),
      penalty_(parameters, {parameters.get(useImage("Fixed")), parameters.get(useImage("Moving"))})
{
}

template <int D>
const ComponentDescription& MattesMutualInformationWithRigidityPenalty<D>::description()
{
  static const ComponentDescription description{
      "Metric", "MattesMutualInformationWithRigidityPenalty",
      "AdvancedMattesMutualInformation + RigidityPenaltyWeight * TransformRigidityPenalty, a metric of "
      "elastix 3.5 to 4.0",
      joinedRows({AdvancedMattesMutualInformation::description().parameters,
                  {rigidityPenaltyWeight, useImage("Fixed"), useImage("Moving")},
                  TransformRigidityPenalty<D>::description().parameters})};
  return description;
}

template <int D>
void MattesMutualInformationWithRigidityPenalty<D>::prepareForLevel(Context& context,
                                                                    const TermLevel<D>& level)
{
  weight_ = parameters_.get(rigidityPenaltyWeight, level.level);
  information_.prepareForLevel(context, level);
  penalty_.prepareForLevel(context, level);
  const MemoryPart part(context, "penalties");
  const Transform<D>& transform = *level.chain->transform;
  penaltyGradient_ = Buffer<double>(vectorContext<D>(context, transform), transform.parameterCount());
}

template <int D>
TermValue MattesMutualInformationWithRigidityPenalty<D>::evaluateHere(Context& context,
                                                                      const SampleSet<D>& samples,
                                                                      std::span<const double> parameters,
                                                                      std::span<double> gradient)
{
  const TermValue information = information_.evaluate(context, samples, parameters, gradient);
  const TermValue penalty = penalty_.evaluate(context, samples, parameters, penaltyGradient(gradient));
  if (!gradient.empty())
    axpy(context, weight_, penaltyGradient_.span(), gradient);
  return sum(information, penalty, !gradient.empty());
}

template <int D>
void MattesMutualInformationWithRigidityPenalty<D>::enqueue(Context& context, const SampleSet<D>& samples,
                                                            std::span<const double> parameters,
                                                            std::span<double> gradient)
{
  information_.onCuda()->enqueue(context, samples, parameters, gradient);
  penalty_.onCuda()->enqueue(context, samples, parameters, penaltyGradient(gradient));
  if (!gradient.empty()) // which lies on the device, as that of every B-spline
    axpy(context, weight_, penaltyGradient_.span(), gradient);
}

template <int D>
TermValue MattesMutualInformationWithRigidityPenalty<D>::sum(const TermValue& information,
                                                             const TermValue& penalty, bool withGradient)
{
  if (withGradient) {
    informationValue_ = information.value;
    penaltyValue_ = penalty.value;
  }
  return {information.value + weight_ * penalty.value, information.valid, information.asked};
}

TESSERA_INSTANTIATE_CLASS(MattesMutualInformationWithRigidityPenalty);

}
