// on: CPU, GPU
#include "Components/Metrics/MattesMutualInformationWithRigidityPenalty.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"
#include "Testing/Support/Scenes/BendingScenes.h"

namespace tessera {
namespace {

using namespace testing;

constexpr const char* text = "(NumberOfHistogramBins 16)\n(LinearityConditionWeight 20)\n"
                             "(RigidityPenaltyWeight 0.25)";

template <class Term, int D>
TermEvaluation evaluated(Context& context, Term&& term, const TermScene<D>& scene)
{
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  return evaluateTerm<D>(context, term, scene, scene.points(700));
}

template <int D>
void expectTheWeightedSum()
{
  Context context = contextUnderTest();
  TermScene<D> scene(1, unequalSize<D>());
  useBSpline<D>(scene, 3, false);
  const Parameters parameters = parametersOf(text, D, 1, "Metric0");
  const TermEvaluation information = evaluated(
      context, ImageTerm<D>(parameters, makeMetric<AdvancedMattesMutualInformation>(parameters)), scene);
  const TermEvaluation penalty = evaluated(context, TransformRigidityPenalty<D>(parameters), scene);
  MattesMutualInformationWithRigidityPenalty<D> both(parameters);

  const TermEvaluation found = evaluated(context, both, scene);

  ASSERT_GT(penalty.term.value, 0);
  EXPECT_EQ(found.term.value, information.term.value + 0.25 * penalty.term.value);
  EXPECT_EQ(found.term.valid, information.term.valid);
  for (std::size_t i = 0; i < found.gradient.size(); ++i)
    EXPECT_DOUBLE_EQ(found.gradient[i], information.gradient[i] + 0.25 * penalty.gradient[i]);
  const std::vector<TermColumn> columns = both.columns();
  for (const auto& [name, value] :
       {std::pair{"Metric-MI", information.term.value}, std::pair{"Metric-RP", penalty.term.value}}) {
    const auto column = std::ranges::find(columns, name, &TermColumn::name);
    ASSERT_NE(column, columns.end());
    EXPECT_EQ(column->value, value);
  }
}

using MattesMutualInformationWithRigidityPenaltyTest = DeviceTest;

TEST_F(MattesMutualInformationWithRigidityPenaltyTest, IsTheWeightedSumOfBoth)
{
  expectTheWeightedSum<2>();
  expectTheWeightedSum<3>();
}

TEST_F(MattesMutualInformationWithRigidityPenaltyTest, ReadsNoImageThatIsSwitchedOff)
{
  TermScene<2> scene(1, unequalSize<2>());
  useBSpline<2>(scene, 3, false);
  const std::string off = std::string(text)
                          + "\n(UseFixedRigidityImage \"false\")\n(FixedRigidityImageName \"absent.mha\")"
                            "\n(UseMovingRigidityImage \"false\")\n(MovingRigidityImageName \"absent.mha\")";
  using Term = MattesMutualInformationWithRigidityPenalty<2>;

  const TermEvaluation without = evaluated(context, Term(parametersOf(off, 2, 1, "Metric0")), scene);

  EXPECT_EQ(without.term.value,
            evaluated(context, Term(parametersOf(text, 2, 1, "Metric0")), scene).term.value);
}

}
}
