// needs: Runs
#include "Core/Compute/Error.h"
#include "Core/Runs/Run.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

namespace tessera {
namespace {

using namespace testing;

ImagePointer<2> drawing(double shiftMm)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({48, 40}, {1, 1});
  const auto all = scatteredBlobs<2>(geometry, 12, 5);
  return std::make_shared<Image<2>>(drawImage<2>(geometry, [&](Vec<2> pointMm) {
    pointMm[0] += shiftMm * (1 + 0.2 * std::sin(pointMm[1] / 8));
    return sumOf(all, pointMm);
  }));
}

std::string textOf(const std::string& lines)
{
  return lines + R"(
(NumberOfResolutions 2)
(Metric "AdvancedMeanSquares")
(Optimizer "RegularStepGradientDescent")
(MaximumStepLength 1)
(MinimumStepLength 0.001)
(ImageSampler "Full")
(Interpolator "LinearInterpolator")
(WriteResultImage "false")
)";
}

const std::string rigid = textOf("(Transform \"EulerTransform\")\n(AutomaticScalesEstimation \"true\")\n"
                                 "(MaximumNumberOfIterations 30)"),
                  spline = textOf("(Transform \"BSplineTransform\")\n(FinalGridSpacingInVoxels 8)\n"
                                  "(MaximumNumberOfIterations 30)");

/// A run of these stages that moves the drawing by `shiftMm`, going on from a chain unless that is null.
ChainPointer<2> found(const std::vector<std::string>& stages, double shiftMm,
                      const ChainPointer<2>& start = nullptr, const ChainPointer<2>& initial = nullptr)
{
  RunRequest request;
  request.fixed = {{"fixed", drawing(0)}};
  request.moving = {{"moving", drawing(shiftMm)}};
  for (const std::string& text : stages)
    request.stages.push_back(stageTextOf("parameters", text));
  request.device = "cpu";
  if (start)
    request.startAt = {"last", start};
  if (initial)
    request.initialTransform = {"initial", initial};
  Log log;
  return tessera::Run<2>(allComponents(), request, log).execute().chain;
}

const std::string notRun = "(RunResolution \"false\" \"false\")\n";

TEST(StartAt, AStageThatRunsNoLevelKeepsTheParametersAndTheChainDoesNotGrow)
{
  const auto last = found({rigid, spline}, 1.5);

  const auto again = found({notRun + rigid, notRun + spline}, 1.5, last);

  ASSERT_TRUE(again->initial);
  EXPECT_FALSE(again->initial->initial);
  EXPECT_EQ(again->parameters, last->parameters);
  EXPECT_EQ(again->initial->parameters, last->initial->parameters);
  const Vec<2> pointMm{3, -4};
  EXPECT_EQ(mappedPoint<2>(*again, pointMm), mappedPoint<2>(*last, pointMm));
}

TEST(StartAt, FewIterationsFromANearStartFindWhatManyFindFromNone)
{
  const std::string fine = "(RunResolution \"false\" \"true\")\n", few = "(MaximumNumberOfIterations 8)\n";
  const auto shortened = [&](std::string text) {
    text.erase(text.find("(MaximumNumberOfIterations"), few.size());
    return fine + few + text;
  };
  const Vec<2> pointMm{5, 2};
  const auto last = found({rigid, spline}, 1.5), cold = found({rigid, spline}, 2.0);

  const auto warm = found({shortened(rigid), shortened(spline)}, 2.0, last);
  const auto none = found({shortened(rigid), shortened(spline)}, 2.0);

  EXPECT_NEAR(mappedPoint<2>(*warm, pointMm)[0], mappedPoint<2>(*cold, pointMm)[0], 0.1);
  EXPECT_GT(std::abs(mappedPoint<2>(*last, pointMm)[0] - mappedPoint<2>(*cold, pointMm)[0]), 0.3);
  EXPECT_NE(none->parameters, warm->parameters);
}

TEST(StartAt, AGridOfAnotherSpacingTakesTheDisplacementOver)
{
  std::string finer = notRun + spline;
  finer.replace(finer.find("InVoxels 8"), 10, "InVoxels 4");
  const auto last = found({spline}, 1.5);

  const auto again = found({finer}, 1.5, last);

  EXPECT_GT(again->parameters.size(), 2 * last->parameters.size());
  for (const Vec<2> pointMm : {Vec<2>{0, 0}, Vec<2>{-9, 7}, Vec<2>{12, -8}})
    EXPECT_NEAR(mappedPoint<2>(*again, pointMm)[0], mappedPoint<2>(*last, pointMm)[0], 0.02);
}

TEST(StartAt, OnlyTheLevelsThatAreAskedForAreRun)
{
  RunRequest request;
  request.fixed = request.moving = {{"image", drawing(0)}};
  request.stages = {stageTextOf("parameters", "(RunResolution \"false\" \"true\")\n" + rigid)};
  request.device = "cpu";
  Log log;
  tessera::Run<2> run(allComponents(), request, log);
  run.execute();
  ASSERT_EQ(run.summary().stages.front().levels.size(), 1u);
  EXPECT_EQ(run.summary().stages.front().levels.front().level, 1u);
}

TEST(StartAt, AResultOfOtherStagesIsRefused)
{
  const auto ofOne = found({rigid}, 1), ofTwo = found({rigid, spline}, 1);
  const auto refusal = [](const auto& run) { return errorText(run, ExitCode::usage); };
  EXPECT_PRED2(
      contains, refusal([&] {
        found({rigid, spline}, 1, ofOne);
      }),
      "--start-at: last: where stage 1, parameters, has a BSplineTransform, it has another transform");
  EXPECT_PRED2(contains, refusal([&] {
                 found({rigid, rigid}, 1, ofOne);
               }),
               "--start-at: last: it has fewer transforms than there are stages.");
  EXPECT_PRED2(contains, refusal([&] { found({spline}, 1, ofTwo); }),
               "--start-at: last: before the transforms of the stages it has other ones than -t0.");
  EXPECT_EQ(found({notRun + spline}, 1, ofTwo, ofTwo->initial)->parameters, ofTwo->parameters);
}

TEST(StartAt, SplinesOfAnotherOrderAndAnglesInAnotherOrderAreRefused)
{
  const auto ofSpline = found({spline}, 1);
  EXPECT_PRED2(
      contains,
      errorText([&] { found({"(BSplineTransformSplineOrder 2)\n" + spline}, 1, ofSpline); }, ExitCode::usage),
      "the transform to start at has another order or period");
}

}
}
