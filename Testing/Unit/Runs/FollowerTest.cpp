// on: CPU, GPU; needs: Runs
#include "Core/Runs/Following/Follower.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace tessera {
namespace {

using namespace testing;
using FollowerTest = DeviceTest;
using Chain = ChainPointer<2>;

/// Where the patient is: shifted, turned, and breathed in by so much at most.
struct Pose {
  double shiftMm = 0, turn = 0, breathMm = 0;
};

/// Where a point of the fixed image lies.
Vec<2> trueMm(const Pose& pose, const Vec<2>& pointMm)
{
  const double c = std::cos(pose.turn), s = std::sin(pose.turn);
  const double bell = std::exp(-(pointMm[0] * pointMm[0] + pointMm[1] * pointMm[1]) / (2 * 30 * 30));
  const Vec<2> breathed{pointMm[0], pointMm[1] + pose.breathMm * bell};
  return {c * breathed[0] - s * breathed[1] + pose.shiftMm, s * breathed[0] + c * breathed[1]};
}

/// Blobs and waves of many lengths and directions, 12 to 40 mm, drawn where the moving point comes from,
/// which is found by fixed-point iteration.
ImagePointer<2> patient(const Pose& pose, std::size_t size = 128, std::uint32_t seed = 5)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({size, size}, {1, 1});
  const auto blobs = scatteredBlobs<2>(centredGeometry<2>({128, 128}, {1, 1}), 12, seed);
  double scale = 0;
  for (const auto& pointMm : {Vec<2>{0, 0}, Vec<2>{20, 10}, Vec<2>{-15, 25}, Vec<2>{30, -30}})
    scale = std::max(scale, std::abs(sumOf(blobs, pointMm)));
  return std::make_shared<Image<2>>(drawImage<2>(geometry, [&](Vec<2> pointMm) {
    Vec<2> fromMm = pointMm;
    for (int i = 0; i < 12; ++i) {
      const Vec<2> reachedMm = trueMm(pose, fromMm);
      for (int d = 0; d < 2; ++d)
        fromMm[d] += pointMm[d] - reachedMm[d];
    }
    double waves = 0;
    for (int k = 0; k < 12; ++k) {
      const double angle = 2.4 * k + seed, perMm = 2 * 3.14159265 / (12 + 2.5 * k);
      waves += std::sin(perMm * (fromMm[0] * std::cos(angle) + fromMm[1] * std::sin(angle)) + k * seed);
    }
    return sumOf(blobs, fromMm) + 0.1 * scale * waves;
  }));
}

const std::string shared = R"((NumberOfResolutions 3)
(FixedImagePyramid "FixedRecursiveImagePyramid")
(MovingImagePyramid "MovingRecursiveImagePyramid")
(Metric "AdvancedMeanSquares")
(ImageSampler "Full")
(Interpolator "LinearInterpolator")
(Optimizer "QuasiNewtonLBFGS")
(MaximumNumberOfIterations 20)
(StopIfWolfeNotSatisfied "false")
(AutomaticScalesEstimation "true")
(WriteResultImage "false")
)";
const std::string rigid = shared + "(Transform \"EulerTransform\")\n",
                  freeForm = shared
                             + "(Transform \"BSplineTransform\")\n(FinalGridSpacingInVoxels 12)\n"
                               "(GridSpacingSchedule 1 1 1)\n";

RunRequest requestOf(const std::vector<std::string>& stages)
{
  RunRequest request;
  request.fixed = {{"fixed", patient({})}};
  for (const std::string& text : stages)
    request.stages.push_back(stageTextOf("parameters", text));
  request.device = deviceUnderTest().kind == DeviceKind::cuda ? "cuda" : "cpu";
  request.threads = 2;
  return request;
}

/// A chain as the files of a run bring it to the next one.
Chain throughFiles(const Chain& chain)
{
  std::vector<std::string> warnings;
  std::vector<TransformMap> maps;
  TransformFileSource<2> source{.chain = chain.get(), .fixed = centredGeometry<2>({128, 128}, {1, 1})};
  for (const std::string& text : transformChainTexts<2>(source, warnings))
    maps.push_back(std::make_shared<ParameterMap>(parseParameterText(text, "a file", warnings)));
  return chainFromMaps<2>(Context{}, maps, allComponents(), {});
}

/// What `tessera --start-at LAST -p WHAT-WAS-RUN.txt` finds.
Chain repeated(const FollowUpdate<2>& update, const ImagePointer<2>& moving, const Chain& last)
{
  RunRequest request = requestOf(update.whatWasRun);
  request.moving = {{"moving", moving}};
  if (!update.isCold)
    request.startAt = {"last", throughFiles(last)};
  Log log;
  return tessera::Run<2>(allComponents(), request, log).execute().chain;
}

void expectSameBits(const Chain& one, const Chain& other)
{
  const TransformChain<2>*a = one.get(), *b = other.get();
  for (; a && b; a = a->initial.get(), b = b->initial.get())
    EXPECT_EQ(a->parameters, b->parameters);
  EXPECT_TRUE(!a && !b);
}

double errorMm(const Chain& chain, const Pose& pose)
{
  double squares = 0;
  int count = 0;
  for (double x = -30; x <= 30; x += 10)
    for (double y = -30; y <= 30; y += 10, ++count) {
      const Vec<2> found = mappedPoint<2>(*chain, {x, y}), right = trueMm(pose, {x, y});
      squares += std::pow(found[0] - right[0], 2) + std::pow(found[1] - right[1], 2);
    }
  return std::sqrt(squares / count);
}

TEST_F(FollowerTest, AnUpdateRepeatsToTheBitFromItsFiles)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  Chain last;
  for (const Pose& pose : {Pose{}, Pose{0, 0, 2}, Pose{1.5, 0.02, 3}, Pose{1.5, 0.02, 9}}) {
    const ImagePointer<2> moving = patient(pose);
    const FollowUpdate<2> update = follower.update({"moving", moving});
    EXPECT_EQ(update.isCold, !last) << update.why;
    expectSameBits(update.result.chain, repeated(update, moving, last));
    ASSERT_TRUE(update.result.chain->initial);
    EXPECT_FALSE(update.result.chain->initial->initial) << "the chain grows";
    last = update.result.chain;
  }
}

TEST_F(FollowerTest, FilesAndImagesOnTheDeviceGiveTheBitsOfThoseInMemory)
{
  const TemporaryFolder folder;
  const auto chainsOf = [&](const std::function<GivenImage(const ImagePointer<2>&)>& given) {
    Log log;
    Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
    std::vector<Chain> chains;
    for (const Pose& pose : {Pose{}, Pose{0, 0, 2}, Pose{1.5, 0.02, 3}}) {
      const FollowUpdate<2> update = follower.update(given(patient(pose)));
      EXPECT_EQ(update.isCold, chains.empty()) << update.why;
      chains.push_back(update.result.chain);
    }
    return chains;
  };
  const std::vector<Chain> inMemory = chainsOf([](const auto&image) {
    return GivenImage{"moving", image};
  }),
                           ofFiles = chainsOf([&](const auto&image) {
                             const std::string path = folder / "moving.mha";
                             writeImage(path, *image, PixelType::float32, false);
                             return GivenImage{path};
                           });
  for (std::size_t i = 0; i < inMemory.size(); ++i)
    expectSameBits(inMemory[i], ofFiles[i]);
  if (!context.onCuda())
    return;
  const std::vector<Chain> onDevice = chainsOf([&](const auto& image) {
    Buffer<float> voxels;
    voxels.fromHost(context, image->voxels);
    context.stream->wait();
    return GivenImage{"moving", imageOfOthersOnCuda<2>("moving", context, voxels.span().data(),
                                                       PixelType::float32, image->geometry)};
  });
  for (std::size_t i = 0; i < inMemory.size(); ++i)
    expectSameBits(inMemory[i], onDevice[i]);
}

TEST_F(FollowerTest, WithADeadlineToo)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  Chain last = follower.update({"first", patient({})}).result.chain;
  int cut = 0, late = 0;
  double breathMm = 0;
  for (const int milliseconds : {0, 2, 5, 8, 12, 20, 30, 3000}) {
    const ImagePointer<2> moving = patient({0.5, 0.02, breathMm += 2});
    const auto updateNow = [&] {
      return follower.update({"moving", moving},
                             std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds));
    };
    FollowUpdate<2> update;
    try {
      update = updateNow();
    } catch (const Error& error) {
      EXPECT_TRUE(contains(error.what(), "moving: the deadline came before the first iteration"))
          << error.what();
      EXPECT_TRUE(contains(error.what(), "began anew") || follower.last() == last);
      last = follower.last();
      ++late;
      continue;
    }
    EXPECT_GT(milliseconds, 0);
    if (update.why.empty()) {
      expectSameBits(update.result.chain, repeated(update, moving, last));
      cut += update.endedInTime;
      EXPECT_EQ(update.endedInTime, update.endedInTime && milliseconds < 3000);
    }
    last = update.result.chain;
  }
  EXPECT_GT(cut, 0);
  EXPECT_GT(late, 0);
}

TEST_F(FollowerTest, AColdUpdateThatADeadlineCutsIsWhereTheNextOneBegins)
{
  struct SlowAfterLevels : RunListener<2> {
    Deadline until;
    void levelFinished(const LevelSummary&, const TransformChain<2>&) override
    {
      std::this_thread::sleep_until(until);
    }
  } listener;
  Log log;
  const ImagePointer<2> moving = patient({0, 0, 6});
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     follower.update({"moving", moving}, std::chrono::steady_clock::now());
                   },
                   ExitCode::registrationFailed),
               "moving: the deadline came before the first iteration");
  EXPECT_TRUE(follower.last());
  follower.setLast(nullptr);
  listener.until = std::chrono::steady_clock::now() + std::chrono::seconds(2);

  EXPECT_EQ(follower.update({"moving", moving}, listener, listener.until).levels, (std::vector{0, -1}));

  const FollowUpdate<2> next = follower.update({"moving", moving});
  EXPECT_FALSE(next.isCold) << next.why;
  EXPECT_GT(next.before.leftMm, 1) << "what no level has tried to remove is taken for noise";
  EXPECT_LT(errorMm(next.result.chain, {0, 0, 6}), 0.1);
}

TEST_F(FollowerTest, WhatNoLevelCouldRemoveIsNoMotion)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid}), log); // which follows no breath
  const FollowUpdate<2> first = follower.update({"first", patient({0, 0, 6})});
  EXPECT_TRUE(first.isCold);
  EXPECT_GT(first.fit.leftMm, 0.5);
  const FollowUpdate<2> again = follower.update({"again", patient({0, 0, 6})});
  EXPECT_LT(again.before.leftMm, 0.05);
  EXPECT_EQ(again.levels, std::vector<int>{2});
  const FollowUpdate<2> moved = follower.update({"moved", patient({4, 0, 6})});
  EXPECT_GT(moved.before.leftMm, 1);
  EXPECT_EQ(moved.levels, std::vector<int>{0});
}

TEST_F(FollowerTest, LargerStepsBeginAtCoarserLevels)
{
  std::vector<int> levels;
  for (const double stepMm : {0.2, 0.4, 4.0}) {
    Log log;
    Follower<2> follower(allComponents(), requestOf({freeForm}), log);
    follower.update({"first", patient({})});
    const FollowUpdate<2> update = follower.update({"step", patient({0, 0, stepMm})});
    EXPECT_FALSE(update.isCold) << stepMm << " mm: " << update.why;
    EXPECT_LT(errorMm(update.result.chain, {0, 0, stepMm}), 0.05) << stepMm << " mm";
    levels.push_back(update.levels.front());
  }
  EXPECT_EQ(levels, (std::vector<int>{2, 1, 0}));
}

TEST_F(FollowerTest, TheLinearStageIsRefinedWhereThePatientMoved)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  follower.update({"first", patient({})});
  const FollowUpdate<2> same = follower.update({"same", patient({})});
  const FollowUpdate<2> moved = follower.update({"moved", patient({4, 0, 0})});
  EXPECT_EQ(same.levels.front(), -1);
  EXPECT_GE(moved.levels.front(), 0);
  EXPECT_FALSE(moved.isCold) << moved.why;
  EXPECT_LT(errorMm(moved.result.chain, {4, 0, 0}), 0.05);
}

TEST_F(FollowerTest, WhatTheLastResultDoesNotHoldForBeginsAnew)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  const auto whyOf = [&](const std::string& name, const ImagePointer<2>& image) {
    follower.update({"first", patient({})});
    const FollowUpdate<2> update = follower.update({name, image});
    EXPECT_TRUE(update.isCold) << name;
    return update.why;
  };
  Image<2> half = *patient({});
  std::fill_n(half.voxels.begin(), half.voxels.size() / 2, 0.0F);
  EXPECT_NE(whyOf("a jump", patient({20, 0.26, 0})), "");
  EXPECT_NE(whyOf("another patient", patient({}, 128, 77)), "");
  EXPECT_NE(whyOf("half an image", std::make_shared<Image<2>>(half)), "");
}

TEST_F(FollowerTest, AColdUpdateIsWarnedOfAsARunIsAndDoubtedWhereItFitsWorse)
{
  Log log;
  Image<2> half = *patient({});
  std::fill_n(half.voxels.begin(), half.voxels.size() / 2, 0.0F);
  const auto updateWithHalf = [&](Follower<2>& follower) {
    follower.update({"whole", patient({})});
    return follower.update({"half", std::make_shared<Image<2>>(half)});
  };
  Follower<2> follower(allComponents(), requestOf({rigid}), log),
      folding(allComponents(), requestOf({freeForm}), log);

  EXPECT_PRED2(contains, updateWithHalf(folding).warnings.back(), "the transform folds");
  EXPECT_PRED2(contains, updateWithHalf(follower).warnings.back(), "the same part of the patient?");
  EXPECT_PRED2(contains, follower.update({"whole", patient({})}).why, "the last result is doubtful");
  updateWithHalf(follower);
  follower.setLast(follower.last());
  EXPECT_FALSE(contains(follower.update({"whole", patient({})}).why, "doubtful"));
}

TEST_F(FollowerTest, AnImageOfNoUseIsToldAndTheStateKept)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({freeForm}), log);
  const Chain last = follower.update({"first", patient({})}).result.chain;
  Image<2> constant = *patient({}), broken = constant;
  std::ranges::fill(constant.voxels, 7.0F);
  broken.voxels[5] = NAN;
  const auto refusal = [&](const ImagePointer<2>& image) {
    return errorText([&] { follower.update({"bad", image}); }, ExitCode::unreadableInput);
  };
  EXPECT_PRED2(contains, refusal(std::make_shared<Image<2>>(constant)), "bad: every voxel is 7");
  EXPECT_PRED2(contains, refusal(std::make_shared<Image<2>>(broken)),
               "bad: 1 voxels are not a finite number");
  EXPECT_PRED2(contains, refusal(patient({}, 100)), "bad: another size, spacing or direction");
  EXPECT_TRUE(contains(errorText([&] { follower.update({"/no/such.mha"}); }, ExitCode::unreadableInput),
                       "/no/such.mha"));
  auto away = std::make_shared<Image<2>>(*patient({}));
  away->geometry.originMm[0] += 1000;
  EXPECT_PRED2(
      contains,
      errorText(
          [&] {
            follower.update({"away", away});
          },
          ExitCode::registrationFailed),
      "it began anew, since 0.0 % of the fixed image map into this one, 100.0 % did in the last update: ");
  EXPECT_EQ(follower.last(), last);
  EXPECT_FALSE(follower.update({"next", patient({0, 0, 1})}).isCold);
}

TEST_F(FollowerTest, ASlowDriftIsFollowedWithoutAColdStart)
{
  Log log;
  Follower<2> follower(allComponents(), requestOf({rigid, freeForm}), log);
  follower.update({"first", patient({})});
  constexpr int updates = 100;
  double meanMm = 0;
  for (int i = 1; i <= updates; ++i) {
    const Pose pose{0.025 * i, 0.00025 * i, 3 * std::sin(i / 10.0)};
    const FollowUpdate<2> update = follower.update({"drift", patient(pose)});
    ASSERT_FALSE(update.isCold) << "update " << i << ": " << update.why;
    const double mm = errorMm(update.result.chain, pose);
    ASSERT_LT(mm, 0.4) << "update " << i; // of a voxel of 1 mm, where the rigid stage takes the motion back
    meanMm += mm / updates;
  }
  EXPECT_LT(meanMm, 0.12);
}

TEST_F(FollowerTest, AnotherFollowerGoesOnFromTheLastResult)
{
  Log log;
  Follower<2> first(allComponents(), requestOf({freeForm}), log);
  first.update({"first", patient({})});
  const Chain last = first.update({"second", patient({0, 0, 2})}).result.chain;
  Follower<2> second(allComponents(), requestOf({freeForm}), log);
  second.setLast(throughFiles(last));

  const ImagePointer<2> moving = patient({0, 0, 3});
  const FollowUpdate<2> update = second.update({"third", moving});

  EXPECT_FALSE(update.isCold) << update.why;
  expectSameBits(update.result.chain, first.update({"third", moving}).result.chain);
}

TEST_F(FollowerTest, AStartAtWhichTheImagesFitWorseThanWhereTheyLieIsNotTaken)
{
  Log log;
  const RunRequest request = requestOf({rigid, freeForm});
  const auto resultFor = [&](const Pose& pose) {
    return Follower<2>(allComponents(), request, log).update({"earlier", patient(pose)}).result.chain;
  };
  const auto changed = [](const Chain& chain, const std::function<void(std::vector<double>&)>& change) {
    auto copy = std::make_shared<TransformChain<2>>(*chain);
    change(copy->parameters);
    return copy;
  };
  const auto updateFrom = [&](const Chain& start) {
    Follower<2> follower(allComponents(), request, log);
    follower.setLast(start);
    return follower.update({"moving", patient({0, 0, 3})});
  };
  const Chain right = resultFor({0, 0, 2});
  const auto jump = std::make_shared<TransformChain<2>>(*right);
  jump->initial = changed(right->initial, [](std::vector<double>& rigidParameters) {
    rigidParameters = {0.26, 20, 0};
  });
  const Chain ofNoise = changed(right, [](std::vector<double>& grid) {
    std::uint32_t state = 1;
    for (double& mm : grid) // -5 to 5
      mm += 10 * static_cast<double>((state = state * 1664525 + 1013904223) >> 8) / (1 << 24) - 5;
  });

  EXPECT_FALSE(updateFrom(right).isCold);
  for (const Chain& wrong : {resultFor({-3, 0.05, -4}), Chain(jump), ofNoise}) {
    const FollowUpdate<2> update = updateFrom(wrong);
    EXPECT_TRUE(update.isCold && contains(update.why, "where they lie")) << update.why;
    EXPECT_LT(errorMm(update.result.chain, {0, 0, 3}), 0.1);
  }
}

}
}
