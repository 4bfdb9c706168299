#include "Core/Registration/Stage/LevelData.h"

#include "Testing/Support/Scenes/StageRuns.h"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// One sampler for two metrics: one on points, which needs no samples, and one on images.
DrawnStage<2> withTerms(bool pointsFirst)
{
  const std::string points = "\"CorrespondingPointsEuclideanDistanceMetric\"",
                    images = "\"AdvancedMeanSquares\"";
  DrawnStage<2> stage =
      stageInput<2>({40, 30}, "(Registration \"MultiMetricMultiResolutionRegistration\") (Metric "
                                  + (pointsFirst ? points + " " + images : images + " " + points) + ")");
  stage.points = {{{1, 2}, {-5, 3}}, {{0.5, 2}, {-5.5, 3}}};
  stage.hasPoints = true;
  return stage;
}

/// The same; the metric on points has a fixed image of its own.
DrawnStage<2> withTermsAndImages(bool pointsFirst)
{
  DrawnStage<2> stage = withTerms(pointsFirst);
  const ImagePointer<2> unused = stageInput<2>({20, 16}, "").fixed.front();
  stage.fixed.insert(pointsFirst ? stage.fixed.begin() : stage.fixed.end(), unused);
  return stage;
}

TEST(LevelDataTest, ASharedSamplerIsPreparedForTheFirstTermThatNeedsSamples)
{
  const DrawnStage<2> stage = withTermsAndImages(true);
  PreparedStage<2> prepared = stage.prepared();
  TransformChain<2> chain;
  chain.transform = prepared.components.transform;

  const LevelData<2> level =
      prepareLevel<2>(host, allComponents(), stage, prepared.parameters, prepared.components, chain, 0);

  EXPECT_EQ(level.parts[0].sampler, nullptr);
  ASSERT_NE(level.parts[1].sampler, nullptr);
  EXPECT_EQ(positionCount<2>(level.parts[1].sampler->samples()), 40u * 30);
}

TEST(LevelDataTest, TheOrderOfTermsChangesRoundingsAlone)
{
  Reporter<2> reporter;
  const std::vector<double> pointsFirst = withTerms(true).run(host, reporter).chain->parameters,
                            imagesFirst = withTerms(false).run(host, reporter).chain->parameters;

  EXPECT_LE(largestDifference(pointsFirst, imagesFirst), 1e-9);
  EXPECT_LT(pointsFirst[4], -0.01); // the moving image is drawn to the left
}

TEST(LevelDataTest, TheNeedOfDeviceMemoryDoesNotDependOnTheOrderOfTerms)
{
  constexpr double unlimited = std::numeric_limits<double>::infinity();
  EXPECT_EQ(withTermsAndImages(true).plansFor(unlimited).front().memory.bytes(),
            withTermsAndImages(false).plansFor(unlimited).front().memory.bytes());
}

}
}
