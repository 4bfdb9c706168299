#include "Components/Registrations/MultiMetricMultiResolutionRegistration.h"
#include "Components/Registrations/MultiResolutionRegistration.h"
#include "Components/Registrations/MultiResolutionRegistrationWithFeatures.h"

#include "Core/Compute/Error.h"
#include "Testing/Support/ParameterText.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::parametersOf;
using Weights = std::vector<double>;

template <class Registration>
TermCombination combinationOf(const std::string& text, std::size_t level, std::size_t terms)
{
  return Registration(parametersOf(text)).combination(level, terms);
}

using Several = MultiMetricMultiResolutionRegistration;

TEST(MultiMetricMultiResolutionRegistrationTest, MetricsShareOneByDefault)
{
  const TermCombination combination = combinationOf<Several>("", 0, 4);

  EXPECT_EQ(combination.weights, Weights(4, 0.25));
  EXPECT_FALSE(combination.relative);
}

TEST(MultiMetricMultiResolutionRegistrationTest, AWeightIsOfItsLevelOrTheFirst)
{
  const std::string text = "(Metric0Weight 1 2 3)\n(Metric1Weight 0.5)\n";

  EXPECT_EQ(combinationOf<Several>(text, 0, 3).weights, (Weights{1, 0.5, 1.0 / 3}));
  EXPECT_EQ(combinationOf<Several>(text, 2, 3).weights, (Weights{3, 0.5, 1.0 / 3}));
  EXPECT_EQ(combinationOf<Several>(text, 3, 3).weights, (Weights{1, 0.5, 1.0 / 3}));
}

TEST(MultiMetricMultiResolutionRegistrationTest, RelativeWeightsAreReadInsteadIfAsked)
{
  const TermCombination combination = combinationOf<Several>(
      "(UseRelativeWeights \"true\")\n(Metric0Weight 9)\n(Metric1RelativeWeight 0.1)\n", 0, 2);

  EXPECT_TRUE(combination.relative);
  EXPECT_EQ(combination.weights, (Weights{0.5, 0.1}));
}

TEST(MultiMetricMultiResolutionRegistrationTest, AMetricCanBeSwitchedOffForALevel)
{
  const std::string text = "(Metric1Use \"false\" \"true\")\n(Metric1Weight 5)\n";

  EXPECT_EQ(combinationOf<Several>(text, 0, 2).weights, (Weights{0.5, 0}));
  EXPECT_EQ(combinationOf<Several>(text, 1, 2).weights, (Weights{0.5, 5}));
}

TEST(MultiMetricMultiResolutionRegistrationTest, TakesAsManyMetricsAsItsTableHasRows)
{
  const Several registration(parametersOf(""));

  EXPECT_NO_THROW(registration.checkTermCount(16));
  EXPECT_THROW(registration.checkTermCount(17), Error);
}

TEST(MultiResolutionRegistrationTest, TakesOneMetricOfWeightOne)
{
  const MultiResolutionRegistration registration(parametersOf(""));

  EXPECT_EQ(registration.combination(0, 1).weights, Weights{1});
  EXPECT_NO_THROW(registration.checkTermCount(1));
  EXPECT_THROW(registration.checkTermCount(2), Error);
}

TEST(MultiResolutionRegistrationWithFeaturesTest, TakesOneMetricForAllImages)
{
  const MultiResolutionRegistrationWithFeatures registration(parametersOf(""));

  EXPECT_TRUE(registration.takesFeatures());
  EXPECT_FALSE(MultiResolutionRegistration(parametersOf("")).takesFeatures());
  EXPECT_EQ(registration.combination(0, 1).weights, Weights{1});
  EXPECT_NO_THROW(registration.checkTermCount(1));
  EXPECT_THROW(registration.checkTermCount(2), Error);
}

}
}
