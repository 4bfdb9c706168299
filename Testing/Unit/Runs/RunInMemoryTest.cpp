// needs: Runs
#include "Core/Compute/Error.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Runs/Run.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <nlohmann/json.hpp>

#include <thread>

#include <malloc.h>

namespace tessera {
namespace {

using namespace testing;

constexpr const char* translationText = R"((Transform "TranslationTransform")
(Metric "AdvancedMeanSquares")
(Optimizer "RegularStepGradientDescent")
(MaximumNumberOfIterations 60)
(MaximumStepLength 2)
(MinimumStepLength 0.001)
(ImageSampler "Full")
(Interpolator "LinearInterpolator")
(FixedImagePyramid "FixedShrinkingImagePyramid")
(MovingImagePyramid "MovingShrinkingImagePyramid")
(NumberOfResolutions 1)
(ResampleInterpolator "FinalLinearInterpolator")
(ResultImagePixelType "float")
)";

ImagePointer<2> blobs(double shiftMm, std::size_t size = 40)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({size, size}, {1, 1});
  const auto all = scatteredBlobs<2>(geometry, 12, 5);
  return std::make_shared<Image<2>>(drawImage<2>(geometry, [&](Vec<2> pointMm) {
    pointMm[0] += shiftMm;
    return sumOf(all, pointMm);
  }));
}

RunRequest requestOf(const ImagePointer<2>& fixed, const ImagePointer<2>& moving,
                     const std::string& parameters = translationText)
{
  RunRequest request;
  request.fixed = {{"fixed", fixed}};
  request.moving = {{"moving", moving}};
  request.stages = {stageTextOf("parameters", parameters)};
  request.device = "cpu";
  return request;
}

RunResult<2> resultOf(const RunRequest& request)
{
  Log log;
  return tessera::Run<2>(allComponents(), request, log).execute();
}

TEST(RunInMemory, GivesBackChainAndImage)
{
  const ImagePointer<2> fixed = blobs(0);

  const RunResult<2> result = resultOf(requestOf(fixed, blobs(1.5)));

  ASSERT_EQ(result.chain->parameters.size(), 2u);
  EXPECT_NEAR(result.chain->parameters[0], -1.5, 0.05);
  EXPECT_NEAR(result.chain->parameters[1], 0, 0.05);
  ASSERT_TRUE(result.image.pixels);
  EXPECT_EQ(result.image.type, PixelType::float32);
  const auto* const values = reinterpret_cast<const float*>(result.image.bytes().data());
  const std::size_t middle = 20 + 40 * 20;
  EXPECT_NEAR(values[middle], fixed->voxels[middle], 0.05 * largestMagnitude(fixed->voxels));
}

TEST(RunInMemory, ImagesThatMakeNoSenseAreRefusedAsFilesAre)
{
  const auto none = std::make_shared<Image<2>>(Image<2>{centredGeometry<2>({0, 5}, {1, 1}), {}});
  Image<2> bent = *blobs(0);
  bent.geometry.direction = {};
  for (const ImagePointer<2>& moving :
       {ImagePointer<2>(none), ImagePointer<2>(std::make_shared<Image<2>>(bent))})
    EXPECT_PRED2(contains,
                 errorText([&] { resultOf(requestOf(blobs(0), moving)); }, ExitCode::unreadableInput),
                 "-m: moving: ");
}

TEST(RunInMemory, ARequestThatLacksSomethingIsRefused)
{
  RunRequest withoutFixed = requestOf(blobs(0), blobs(1)), withoutMoving = withoutFixed,
             withoutStages = withoutFixed;
  withoutFixed.fixed.clear();
  withoutMoving.moving = {{}};
  withoutStages.stages.clear();
  for (const RunRequest& request :
       {withoutFixed, withoutMoving, withoutStages, requestOf(blobs(0), ImagePointer<2>())})
    EXPECT_PRED2(contains, errorText([&] { resultOf(request); }, ExitCode::usage), "a request without");
}

TEST(RunInMemory, LabelsThatAreNoWholeNumbersAreRefused)
{
  const ImagePointer<2> image = blobs(0);
  const auto halves = std::make_shared<Image<2>>(*image);
  std::ranges::fill(halves->voxels, 1.5F);
  RunRequest request = requestOf(image, image);
  request.fixedLabels = {"organs", ImagePointer<2>(halves)};
  request.movingLabels = request.fixedLabels;
  EXPECT_TRUE(errorText([&] { resultOf(request); }, ExitCode::unreadableInput)
                  .starts_with("--fLabels: organs: 1.5 is no label"));
}

TEST(RunInMemory, VoxelsThatAreNoNumbersDoNotCount)
{
  Image<2> moving = *blobs(1.5);
  for (std::size_t v = 0; v < 40 * 8; ++v)
    moving.voxels[v] = NAN;

  const RunResult<2> result = resultOf(requestOf(blobs(0), std::make_shared<Image<2>>(moving)));

  EXPECT_NEAR(result.chain->parameters[0], -1.5, 0.1);
}

TEST(RunInMemory, TheResultHasTheTypeOfTheMovingImage)
{
  std::string text = translationText;
  text.erase(text.find("(ResultImagePixelType"));
  std::vector<std::int16_t> voxels;
  const ImagePointer<2> moving = blobs(1.5);
  for (const float voxel : moving->voxels)
    voxels.push_back(static_cast<std::int16_t>(voxel));
  std::vector<std::string> notes;
  RunRequest request = requestOf(blobs(0), moving, text);
  request.moving.front().inMemory =
      HeldImage<2>{imageFromStrided<2>("moving", {voxels.data(), PixelType::int16, {2, 2 * 40}},
                                       moving->geometry, notes, 1),
                   PixelType::int16};

  EXPECT_EQ(resultOf(request).image.type, PixelType::int16);
}

TEST(RunInMemory, VoxelsThatWereSetAsideStaySo)
{
  Image<2> moving = *blobs(1.5);
  std::fill_n(moving.voxels.begin(), 40 * 8, NAN);
  const std::vector<float> voxels = moving.voxels;
  std::vector<std::string> notes;
  RunRequest request = requestOf(blobs(0), std::make_shared<Image<2>>(moving)), converted = request;
  converted.moving.front().inMemory =
      HeldImage<2>{imageFromStrided<2>("moving", {voxels.data(), PixelType::float32, {4, 4 * 40}},
                                       moving.geometry, notes, 1),
                   PixelType::float32};

  EXPECT_EQ(resultOf(converted).chain->parameters, resultOf(request).chain->parameters);
}

/// Asks its run to stop at an iteration.
class StopAt final : public RunListener<2> {
public:
  explicit StopAt(std::size_t iteration) : iteration_(iteration) {}

  std::atomic<bool> stop{false};
  bool wasStopped = false;

  void iterationDone(std::size_t, const IterationRecord& record, const ReachedChain&) override
  {
    if (record.iteration == iteration_)
      stop = true;
  }
  void stageWasStopped() override { wasStopped = true; }

private:
  std::size_t iteration_;
};

TEST(RunInMemory, TwoAtOnceStopOneByOne)
{
  const RunRequest request = requestOf(blobs(0), blobs(1.5));
  const std::vector<double> alone = resultOf(request).chain->parameters;
  StopAt stopped(3), other(1000);
  std::vector<double> found;
  std::thread first([&] {
    Log log;
    tessera::Run<2> run(allComponents(), request, log);
    EXPECT_THROW(run.execute(stopped, stopped.stop), Interrupted);
    EXPECT_TRUE(run.summary().stages.empty());
  });
  std::thread second([&] {
    Log log;
    found = tessera::Run<2>(allComponents(), request, log).execute(other, other.stop).chain->parameters;
  });
  first.join();
  second.join();
  EXPECT_TRUE(stopped.wasStopped);
  EXPECT_EQ(found, alone);
}

/// Asks its run to stop once the transform is found.
class StopAtTheEnd final : public RunListener<2> {
public:
  std::atomic<bool> stop{false};

  void transformFound(const ChainPointer<2>&) override { stop = true; }
  void resultMade(ResultImage<2>&) override { ADD_FAILURE() << "the image takes long"; }
};

TEST(RunInMemory, LevelsOfAStageAreKeptThatStopsAtItsEnd)
{
  StopAtTheEnd stopped;
  Log log;
  tessera::Run<2> run(allComponents(), requestOf(blobs(0), blobs(1.5)), log);
  EXPECT_THROW(run.execute(stopped, stopped.stop), Interrupted);
  ASSERT_EQ(run.summary().stages.size(), 1u);
  EXPECT_FALSE(run.summary().stages.front().levels.empty());
  EXPECT_FALSE(run.summary().quality);
}

/// The lines of a log.
class Lines final : public Log {
public:
  std::vector<std::string> all;

private:
  void write(LogLevel, const std::string& line, LineKind) override { all.push_back(line); }
};

TEST(RunInMemory, FilesThatNobodyWritesAreNotedOnce)
{
  Lines log;
  const std::string asks =
      "(WriteTransformParametersEachIteration \"true\")\n(WriteIterationInfo \"true\")\n";
  tessera::Run<2>(allComponents(), requestOf(blobs(0), blobs(1.5), translationText + asks), log).execute();
  EXPECT_EQ(std::ranges::count_if(log.all,
                                  [](const std::string& line) {
                                    return line.starts_with("NOTE: parameters:")
                                           && line.find("WriteTransformParametersEachIteration")
                                                  != std::string::npos;
                                  }),
            1);
}

TEST(RunInMemory, ManyRunsLeaveNothingBehind)
{
  const RunRequest request = requestOf(blobs(0, 8), blobs(0.3, 8), std::string(translationText));
  std::size_t afterTen = 0;
  for (int i = 0; i < 1000; ++i) {
    resultOf(request);
    if (i == 9)
      afterTen = mallinfo2().uordblks;
  }
  EXPECT_LE(static_cast<double>(mallinfo2().uordblks), 1.01 * static_cast<double>(afterTen));
}

TEST(RunRequestTest, ComesBackFromJson)
{
  RunRequest request;
  request.fixed = {{"f.mha"}, {"g.mha"}};
  request.moving = {{"m.mha"}};
  request.fixedMasks = {{"k.mha"}};
  request.movingPoints.path = "mp.txt";
  request.initialTransform.path = "t0.txt";
  request.stages = {StageText{"p.txt", "", nullptr}};
  request.reading.pixelSpacingMm = {0.5, 0.25};
  request.threads = 3;
  request.strict = true;
  request.maxDeviceMemory = 1e9;

  const nlohmann::ordered_json written = json(request);

  EXPECT_EQ(json(tessera::requestOf(written)), written);
  EXPECT_EQ(written["fixed"][1], "g.mha");
  EXPECT_EQ(written["maxDeviceMemory"], 1e9);
}

TEST(RunRequestTest, WhatIsInMemoryHasNoJson)
{
  EXPECT_THROW(json(requestOf(blobs(0), blobs(1))), std::logic_error);
}

}
}
