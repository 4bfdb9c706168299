// needs: Runs
#include "Core/Runs/Prediction/ResamplingWork.h"

#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

#include <gtest/gtest.h>

#include <map>

namespace tessera {
namespace {

using namespace testing;
using Counts = std::map<std::string, double>;

constexpr int nearest = 0, linear = 1, cubic = 3, majority = orderOfLabels;

/// 5 x 4 x 3 voxels along the world's axes.
ImagePointer<3> plainImage()
{
  return std::make_shared<Image<3>>(Image<3>{{{5, 4, 3}, {1, 1.5, 2}, {7, -3, 2}}, std::vector<float>(60)});
}

Counts counted(const WorkItems& work)
{
  Counts counts;
  for (std::size_t i = 0; i < workCount; ++i)
    if (work.items[i] > 0)
      counts[nameOf(static_cast<Work>(i))] = work.items[i];
  return counts;
}

DeviceWork imageWork(const TransformChain<3>& chain, int order,
                     const std::vector<ImageSizes>& images = {{100, 1}}, std::size_t imagesAtOnce = 8)
{
  DeviceWork work;
  addImages<3>(work, chain, plainImage()->geometry, order, images, imagesAtOnce);
  return work;
}

DeviceWork imageWork(const std::string& letters, int order,
                     const std::vector<ImageSizes>& images = {{100, 1}})
{
  return imageWork(letterChain<3>(letters, plainImage()), order, images);
}

TEST(ResamplingWorkTest, LinearTransformsAreOneWithTheLookUp)
{
  for (const std::string letters : {"T", "A", "TAES"}) {
    const DeviceWork work = imageWork(letters, linear);
    EXPECT_EQ(counted(work.cpu), (Counts{{"DirectLinear", 60}})) << letters;
    EXPECT_EQ(counted(work.cuda), (Counts{{"DirectLinear", 60}})) << letters;
    EXPECT_EQ(work.cuda.uploadedBytes, 400);
    EXPECT_EQ(work.cuda.downloadedBytes, 240);
    EXPECT_EQ(work.cuda.images, 1);
  }
}

TEST(ResamplingWorkTest, SplinesOfAnyOrderCountTheirVoxelsAndPoles)
{
  for (const auto& [order, share, poles] :
       {std::tuple{2, 27.0 / 64, 1}, {3, 1.0, 1}, {4, 125.0 / 64, 2}, {5, 216.0 / 64, 2}}) {
    const DeviceWork work = imageWork("A", order);
    const Counts expected{{"DirectCubic", 60 * share}, {"Prefilter", 100.0 * poles}};
    EXPECT_EQ(counted(work.cpu), expected) << order;
    EXPECT_EQ(counted(work.cuda), expected) << order;
  }
}

TEST(ResamplingWorkTest, OneBSplineGoesByPointsOnTheCpuAndDirectlyOnCuda)
{
  const DeviceWork along = imageWork("BT", nearest), askew = imageWork("BA", nearest),
                   after = imageWork("AB", nearest);
  EXPECT_EQ(counted(along.cpu),
            (Counts{{"PointNearest", 60}, {"PointAlignedSpline", 60}, {"PointLinearTransform", 60}}));
  EXPECT_EQ(counted(along.cuda), (Counts{{"DirectNearest", 60}, {"DirectSpline", 60}}));
  EXPECT_EQ(counted(askew.cpu),
            (Counts{{"PointNearest", 60}, {"PointSpline", 60}, {"PointLinearTransform", 60}}));
  EXPECT_EQ(counted(askew.cuda), (Counts{{"DirectNearest", 60}, {"DirectSpline", 60}}));
  EXPECT_EQ(counted(after.cpu), counted(along.cpu));
  EXPECT_EQ(counted(after.cuda), counted(along.cuda));
}

TEST(ResamplingWorkTest, SeveralBSplinesGoByPointsOnBoth)
{
  const DeviceWork work = imageWork("BAB", cubic);
  const Counts cpu{{"PointCubic", 60},
                   {"PointAlignedSpline", 60},
                   {"PointSpline", 60},
                   {"PointLinearTransform", 60},
                   {"Prefilter", 100}};
  const Counts cuda{
      {"PointCubic", 60}, {"PointSpline", 120}, {"PointLinearTransform", 60}, {"Prefilter", 100}};
  EXPECT_EQ(counted(work.cpu), cpu);
  EXPECT_EQ(counted(work.cuda), cuda);
}

TEST(ResamplingWorkTest, LandmarksCountEach)
{
  const ImagePointer<3> image = plainImage();
  const PointPairs<3> pairs{{{0, 0, 0}, {9, 0, 0}, {0, 9, 0}, {0, 0, 9}, {5, 5, 5}}, {}};
  std::shared_ptr<Transform<3>> transform = allComponents().create<Transform<3>>(
      "SplineKernelTransform", parametersOf("", 3, 1, "Transform0"), "test");
  Context context;
  TransformChain<3> chain;
  chain.parameters =
      optimizable(*transform).initialize(context, {image, image, nullptr, nullptr, nullptr, &pairs});
  chain.transform = transform;
  const DeviceWork work = imageWork(chain, linear);
  EXPECT_EQ(counted(work.cpu), (Counts{{"PointLinear", 60}, {"PointLandmark", 300}}));
  EXPECT_EQ(counted(work.cuda), counted(work.cpu));

  DeviceWork field;
  addField<3>(field, chain, image->geometry, 3);
  EXPECT_EQ(field.cpu.of(Work::pointLandmark), 300);
  ImageGeometry<3> large = image->geometry;
  large.size = {1000, 1000, 1000};
  DeviceWork ofLarge;
  addImages<3>(ofLarge, chain, large, linear, {{100, 1}}, 8);
  EXPECT_EQ(ofLarge.cpu.of(Work::pointLandmark), 5e9);
  EXPECT_LT(ofLarge.cuda.of(Work::pointLandmark), 1e9); // by polynomials
}

TEST(ResamplingWorkTest, MajoritiesGoByPointsOnTheCpuUnderAnyTransform)
{
  const DeviceWork work = imageWork("A", majority);
  EXPECT_EQ(counted(work.cpu), (Counts{{"PointMajority", 60}, {"PointLinearTransform", 60}}));
  EXPECT_EQ(counted(work.cuda), (Counts{{"DirectMajority", 60}}));
}

TEST(ResamplingWorkTest, ImagesAndComponentsShareTheTransformOnTheCpuAlone)
{
  const TransformChain<3> chain = letterChain<3>("BB", plainImage());
  const DeviceWork work =
      imageWork(chain, linear, {{10, 1}, {20, 2}, {30, 1, 2, 1}}, 2); // the last one bytes made short
  // the first two share, the third begins anew
  EXPECT_EQ(counted(work.cpu),
            (Counts{{"PointLinear", 240}, {"PointAlignedSpline", 120}, {"PointSpline", 120}}));
  EXPECT_EQ(counted(work.cuda), (Counts{{"PointLinear", 240}, {"PointSpline", 480}}));
  EXPECT_EQ(work.cuda.images, 4);
  EXPECT_EQ(work.cuda.uploadedBytes, 4 * (10 + 2 * 20) + 30);
  EXPECT_EQ(work.cuda.downloadedBytes, 4 * 180 + 2 * 60);
}

TEST(ResamplingWorkTest, FieldsCountTheirWayBack)
{
  for (const auto& [components, name] :
       {std::pair{3u, "FieldDisplacements"}, {1u, "FieldDeterminants"}, {9u, "FieldMatrices"}}) {
    DeviceWork work;
    addField<3>(work, letterChain<3>("B", plainImage()), plainImage()->geometry, components);
    EXPECT_EQ(counted(work.cpu), (Counts{{name, 60}}));
    EXPECT_EQ(counted(work.cuda), (Counts{{name, 60}}));
    EXPECT_EQ(work.cuda.downloadedBytes, 240 * components);
    EXPECT_EQ(work.cuda.uploadedBytes, 0);
  }
}

TEST(ResamplingWorkTest, OrdersAreThoseOfTheInterpolators)
{
  const auto orderOf = [](const std::string& name, const std::string& text) {
    return allComponents()
        .create<ResampleInterpolator<3>>(name, parametersOf(text, 3, 1, ""), "")
        ->interpolator->order(0);
  };
  EXPECT_EQ(orderOf("FinalNearestNeighborInterpolator", ""), nearest);
  EXPECT_EQ(orderOf("FinalLinearInterpolator", ""), linear);
  EXPECT_EQ(orderOf("LabelMajorityInterpolator", ""), majority);
  EXPECT_EQ(orderOf("FinalBSplineInterpolator", ""), cubic);
  EXPECT_EQ(orderOf("FinalBSplineInterpolator", "(FinalBSplineInterpolationOrder 5)\n"), 5);
  const Parameters perLevel = parametersOf("(BSplineInterpolationOrder 1 3)\n", 3, 2, "");
  const auto matching = allComponents().create<Interpolator<3>>("BSplineInterpolator", perLevel, "");
  EXPECT_EQ(matching->order(0), linear);
  EXPECT_EQ(matching->order(1), cubic);
}

/// Round numbers: a voxel takes 8 ns on one thread and 1 on eight, a GPU a tenth of a second to start and
/// nothing for kernels.
Calibration roundRates()
{
  Calibration calibration;
  calibration.threads = 8;
  calibration.cpuStartSeconds = 0.001;
  calibration.cudaStartSeconds = 0.1;
  calibration.cudaImageSeconds = 0.001;
  calibration.upload = {2, 0.25};
  calibration.download = {4, 0.5};
  calibration.of(3).cpu.fill({8, 1});
  calibration.of(3).cuda.fill(0.125);
  calibration.of(2).cpu.fill({1000, 1000});
  return calibration;
}

TEST(ResamplingWorkTest, SecondsAddUpByHand)
{
  DeviceWork work;
  work.cpu.add(Work::directLinear, 1e6);
  work.cpu.add(Work::prefilter, 2e6);
  work.cuda.add(Work::directLinear, 1e6);
  work.cuda.images = 3;
  work.cuda.uploadedBytes = 4e6;
  work.cuda.downloadedBytes = 8e6;
  EXPECT_NEAR(cpuSeconds(roundRates(), 3, work, 1), 0.001 + 0.024, 1e-12);
  EXPECT_NEAR(cpuSeconds(roundRates(), 3, work, 2), 0.001 + 0.012, 1e-12);
  EXPECT_NEAR(cudaSeconds(roundRates(), 3, work, 8), 0.1 + 0.003 + 0.001 + 0.004 + 0.000125, 1e-12);
  EXPECT_NEAR(cudaSeconds(roundRates(), 3, work, 1), 0.1 + 0.003 + 0.008 + 0.032 + 0.000125, 1e-12);
}

TEST(ResamplingWorkTest, MoreVoxelsImagesOrFewerThreadsTurnTheChoiceToCuda)
{
  const auto cudaWins = [](std::size_t images, double voxelsOfAll, int threads) {
    DeviceWork work;
    work.cpu.add(Work::directLinear, voxelsOfAll);
    work.cuda.add(Work::directLinear, voxelsOfAll);
    work.cuda.images = static_cast<double>(images);
    work.cuda.uploadedBytes = work.cuda.downloadedBytes = 1 * voxelsOfAll;
    return cudaSeconds(roundRates(), 3, work, threads) < cpuSeconds(roundRates(), 3, work, threads);
  };
  EXPECT_FALSE(cudaWins(1, 1e6, 8));   // 1 ms against 102
  EXPECT_TRUE(cudaWins(1, 1e9, 8));    // 1 s against 0.976
  EXPECT_FALSE(cudaWins(100, 1e9, 8)); // 1 s against 1.075
  EXPECT_FALSE(cudaWins(1, 2e7, 8));
  EXPECT_FALSE(cudaWins(1, 2e7, 4));
  EXPECT_TRUE(cudaWins(1, 1e8, 1)); // 0.8 s against 0.714
}

}
}
