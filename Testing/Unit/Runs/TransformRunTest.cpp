// needs: Runs
#include "Core/Runs/Transforming/TransformRun.h"

#include "Core/Runs/Transforming/TransformInputs.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <algorithm>
#include <atomic>

namespace tessera {
namespace {

using namespace testing;

/// A chain that is in memory, applied to an image that is.
class TransformRunTest : public ::testing::Test {
protected:
  TransformRequest request() const
  {
    TransformRequest request;
    request.transforms = {{"found", chain_}};
    request.grid = {"fixed", scene_.fixed->geometry};
    request.images = {{"moving", scene_.moving}};
    request.threads = 2;
    request.device = "cpu";
    return request;
  }

  /// The moving image by the resampler and the interpolator that are used where no parameters name others.
  std::vector<float> resampled() const
  {
    Context host{Device{}, 1};
    const auto interpolator = preparedInterpolator<2>(host, "FinalBSplineInterpolator", scene_.moving);
    const auto resampler = allComponents().create<Resampler<2>>("DefaultResampler",
                                                                parametersOf("", 2, 1, "Resampler0"), "test");
    return resampledImage(*resampler, host, *chain_, {interpolator.get(), nullptr}, scene_.fixed->geometry)
        .voxels;
  }

  static KeptTransform<2> resultsOf(const TransformRequest& request, Stop stop = {})
  {
    Log log;
    KeptTransform<2> kept;
    EXPECT_EQ(TransformRun<2>(allComponents(), request, log).execute(kept, stop), ExitCode::done);
    return kept;
  }

  static std::vector<float> voxelsOf(const ResultImage<2>& image)
  {
    EXPECT_EQ(image.type, PixelType::float32);
    const auto* const first = reinterpret_cast<const float*>(image.pixels.get());
    return {first, first + image.geometry.voxelCount()};
  }

  const ResampleScene<2> scene_{{23, 17}, {19, 21}};
  const ChainPointer<2> chain_ = std::make_shared<TransformChain<2>>(letterChain<2>("BA", scene_.fixed));
};

TEST_F(TransformRunTest, VoxelsAreThoseOfTheResamplerInSlabsToo)
{
  for (const double maxMemory : {0.0, 1000.0}) {
    TransformRequest request = this->request();
    request.maxMemory = maxMemory;

    const KeptTransform<2> kept = resultsOf(request);

    ASSERT_EQ(kept.results.size(), 1u);
    EXPECT_EQ(voxelsOf(kept.results.front()), resampled()) << maxMemory;
    EXPECT_EQ(kept.results.front().geometry, scene_.fixed->geometry);
  }
}

TEST_F(TransformRunTest, LabelsKeepTheirNumbersAndFieldsHaveTheGrid)
{
  TransformRequest request = this->request();
  Image<2> labels{scene_.moving->geometry, std::vector<float>(scene_.moving->voxels.size(), 7)};
  request.labels = {{"labels", std::make_shared<Image<2>>(std::move(labels))}};
  request.field = true;

  const KeptTransform<2> kept = resultsOf(request);

  ASSERT_EQ(kept.results.size(), 2u);
  const std::vector<float> carried = voxelsOf(kept.results.back());
  EXPECT_GT(std::ranges::count(carried, 7.0f), 100);
  EXPECT_TRUE(std::ranges::all_of(carried, [](float label) { return label == 0 || label == 7; }));
  EXPECT_EQ(kept.fields.at("deformationField").voxels.size(), 2 * carried.size());
}

TEST_F(TransformRunTest, APlanTellsTheResultsAndReadsNoVoxels)
{
  Log log;
  const TransformPlan plan = TransformRun<2>(allComponents(), request(), log).plan();

  EXPECT_EQ(plan.device.choice.device.kind, DeviceKind::cpu);
  ASSERT_EQ(plan.results.size(), 1u);
  EXPECT_EQ(plan.results.front().bytes, 23.0 * 17 * sizeof(float));
}

TEST_F(TransformRunTest, AStopEndsIt)
{
  const std::atomic<bool> asked{true};

  EXPECT_THROW(resultsOf(request(), asked), Interrupted);
}

TEST_F(TransformRunTest, AnImageOrATransformOfAnotherDimensionIsAnError)
{
  const auto image = std::make_shared<Image<3>>(noiseImage<3>(obliqueGeometry<3>({5, 4, 3}), 1));
  TransformRequest request = this->request();
  request.images = {{"moving", image}};
  errorText([&] { resultsOf(request); });

  request = this->request();
  request.transforms.push_back({"other", std::make_shared<TransformChain<3>>(letterChain<3>("A", image))});
  errorText([&] { dimensionOf(request); });
}

}
}
