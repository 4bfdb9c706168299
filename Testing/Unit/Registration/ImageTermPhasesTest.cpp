#include "Core/Registration/Terms/ImageTerm.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Testing/Support/Checks/TermChecks.h"

namespace tessera {
namespace {

using namespace testing;

struct Fixture {
  TermScene<3> scene{1, {27, 20, 18}};
  Parameters parameters = parametersOf("", 3, 1, "Metric0");
  ImageTerm<3> term{parameters, std::make_unique<MetricOf<AdvancedMattesMutualInformation>>(parameters)};
  Context context;

  Fixture()
  {
    scene.useBSpline();
    term.prepareForLevel(context, scene.level);
  }
  std::vector<Phase> phases(const SampleSet<3>& samples, std::span<double> gradient)
  {
    return term.timePhases(context, samples, scene.chain->parameters, gradient);
  }
};

std::vector<std::string> namesOf(const std::vector<Phase>& phases)
{
  std::vector<std::string> names;
  for (const Phase& phase : phases)
    names.push_back(phase.name);
  return names;
}

TEST(ImageTermPhases, OfAnEvaluationWithItsGradientAreFourAndTakeTime)
{
  Fixture f;
  std::vector<double> gradient(f.scene.chain->parameters.size());
  for (const SampleSet<3>& samples : {f.scene.points(3000), f.scene.lattice(1)}) {
    const std::vector<Phase> phases = f.phases(samples, gradient);

    EXPECT_EQ(namesOf(phases),
              (std::vector<std::string>{"transform", "interpolation", "metric", "pull-back"}));
    for (const std::size_t certain : {0, 2}) // the others are differences of times
      EXPECT_GT(phases[certain].milliseconds, 0) << phases[certain].name;
    for (const Phase& phase : phases)
      EXPECT_GE(phase.milliseconds, 0) << phase.name;
  }
}

TEST(ImageTermPhases, OfAValueAloneHaveNoPullBack)
{
  Fixture f;

  EXPECT_EQ(namesOf(f.phases(f.scene.points(3000), {})),
            (std::vector<std::string>{"transform", "interpolation", "metric"}));
}

TEST(ImageTermPhases, LeaveTheNextEvaluationAsItWouldHaveBeen)
{
  Fixture f;
  const SampleSet<3> samples = f.scene.points(3000);
  std::vector<double> before(f.scene.chain->parameters.size()), after(before.size()), unused(before.size());
  const TermValue first = f.term.evaluate(f.context, samples, f.scene.chain->parameters, before);

  f.phases(samples, unused);

  const TermValue second = f.term.evaluate(f.context, samples, f.scene.chain->parameters, after);
  EXPECT_EQ(first.value, second.value);
  EXPECT_EQ(before, after);
}

TEST(ImageTermPhases, OfNoSamplesAreNoTime)
{
  Fixture f;

  EXPECT_EQ(namesOf(f.phases(PointList<3>{}, {})),
            (std::vector<std::string>{"transform", "interpolation", "metric"}));
}

}
}
