// needs: Runs
#include "Core/Runs/Report/RunPage.h"

#include "Core/Runs/Report/CohortVerdicts.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BendingScenes.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using namespace testing;

template <int D>
RunPictures picturesOf(const ShownRun<D>& run, int threads = 1)
{
  return runPictures<D>(Context{Device{}, threads}, allComponents(), run);
}

/// A ball, its centre moved by whole voxels.
ImagePointer<3> ball(double moved)
{
  const ImageGeometry<3> grid{.size = {40, 36, 30}, .spacingMm = {1, 1, 1}};
  return std::make_shared<Image<3>>(drawImage<3>(grid, [&](const Vec<3>& p) {
    const double x = p[0] - 18 - moved, y = p[1] - 17, z = p[2] - 15;
    return std::sqrt(x * x + y * y + z * z) < 9 ? 500 + 40 * x - 10 * y : 0;
  }));
}

template <int D = 3>
TransformChain<D> translation(double mm)
{
  TransformChain<D> chain;
  chain.transform = allComponents().create<Transform<D>>("TranslationTransform", parametersOf("", D), "test");
  chain.parameters.assign(D, 0.0);
  chain.parameters[0] = mm;
  return chain;
}

TEST(SlicePicturesTest, TheRightTransformMakesTheFixedImage)
{
  const TransformChain<3> chain = translation(4);
  ShownRun<3> run{ball(0), ball(4), nullptr, identityMatrix<3>(), nullptr, &chain, nullptr, nullptr};
  const RunPictures pictures = picturesOf<3>(run);
  EXPECT_EQ(pictures.slices.size(), 21U);
  EXPECT_NEAR(pictures.largestDisplacementMm, 4, 1e-6);
  EXPECT_EQ(pictures.thumbnail.substr(0, 3), "\xff\xd8\xff");
  for (const SlicePicture& slice : pictures.slices) {
    EXPECT_EQ(slice.fixed, slice.warped) << slice.plane << slice.position;
    EXPECT_NE(slice.fixed, slice.before) << slice.plane << slice.position;
    EXPECT_EQ(slice.determinants, "");
    EXPECT_TRUE(slice.labels.empty());
    EXPECT_FALSE(slice.grid.empty() || slice.edges.empty() || slice.displacement.empty());
  }
  run.fixedLabels = run.fixed;
  run.movingLabels = run.moving;
  run.before = &chain;
  const auto maskOf = [](const Image<3>& image) {
    std::vector<std::uint8_t> inside;
    for (const float value : image.voxels)
      inside.push_back(value > 0);
    return std::make_shared<Mask<3>>(image.geometry, inside);
  };
  run.fixedMask = maskOf(*run.fixed);
  run.movingMask = maskOf(*run.moving);
  const RunPictures labelled = picturesOf<3>(run, 3);
  for (std::size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(labelled.slices[i].fixed, pictures.slices[i].fixed); // whatever the number of threads
    EXPECT_EQ(labelled.slices[i].before, pictures.slices[i].warped);
    EXPECT_NE(labelled.slices[i].fixedMask, "");
    EXPECT_EQ(labelled.slices[i].warpedMask, labelled.slices[i].fixedMask);
    EXPECT_EQ(labelled.slices[i].maskBefore, labelled.slices[i].fixedMask); // with -t0
    ASSERT_FALSE(labelled.slices[i].labels.empty());
    for (const auto& [number, label] : labelled.slices[i].labels)
      EXPECT_EQ(label.fixed, label.warped) << number;
  }
}

TEST(SlicePicturesTest, AFreeTransformHasAMapOfItsDeterminants)
{
  TermScene<2> scene(1, {41, 36});
  useBSpline<2>(scene, 3, false, 5);
  const RunPictures pictures = picturesOf<2>({scene.fixed, scene.moving, nullptr, identityMatrix<2>(),
                                              nullptr, scene.chain.get(), nullptr, nullptr});
  ASSERT_EQ(pictures.slices.size(), 1U);
  EXPECT_NE(pictures.slices[0].determinants, "");
  EXPECT_GT(pictures.largestDisplacementMm, 1);
  const std::string page = runPage(Json{{"status", "done"}}, &pictures, {});
  EXPECT_PRED2(contains, page, "id=\"det\"");
  EXPECT_EQ(page.find("id=\"labels\""), std::string::npos);
}

TEST(SlicePicturesTest, NoiseStaysBelowTheLimitOfAPage)
{
  Image<3> noise;
  noise.geometry.size = {256, 256, 12};
  noise.geometry.spacingMm = {1, 1, 20};
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < noise.geometry.voxelCount(); ++i)
    noise.voxels.push_back(static_cast<float>((state = state * 1664525U + 1013904223U) >> 16));
  const auto image = std::make_shared<Image<3>>(noise);
  const TransformChain<3> chain = translation(0.5);
  const RunPictures pictures =
      picturesOf<3>({image, image, nullptr, identityMatrix<3>(), nullptr, &chain, image, image});
  const std::string page = runPage(Json{{"status", "done"}}, &pictures, {});
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_GE(pictures.slices.size(), 9U);
}

TEST(SlicePicturesTest, ManyRaggedLabelsAndARaggedMaskStayBelowTheLimitOfAPage)
{
  Image<2> labels;
  labels.geometry.size = {512, 512};
  labels.geometry.spacingMm = {1, 1};
  Json dice = Json::object();
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < labels.geometry.voxelCount(); ++i) {
    labels.voxels.push_back(static_cast<float>(1 + ((state = state * 1664525U + 1013904223U) >> 16) % 3000));
    dice[std::to_string(static_cast<int>(labels.voxels.back()))] = 0.0;
  }
  const auto image = std::make_shared<Image<2>>(labels);
  std::vector<std::uint8_t> board;
  for (std::size_t i = 0; i < labels.voxels.size(); ++i)
    board.push_back((i + i / 512) % 2);
  const TransformChain<2> chain = translation<2>(0);
  const RunPictures pictures = picturesOf<2>({image, image, std::make_shared<Mask<2>>(labels.geometry, board),
                                              identityMatrix<2>(), nullptr, &chain, image, image});
  const std::string page =
      runPage(Json{{"status", "done"}, {"quality", {{"dice", {{"labels", dice}}}}}}, &pictures, {});
  EXPECT_LT(page.size(), 3'000'000U);
  EXPECT_GT(pictures.slices.front().labels.size(), 100U);
  for (const char* text : {"Outlines of masks are left out", "The page has no room for the outlines of ",
                           "and 2980 more", ": 500 of 3000; run.json has all"})
    EXPECT_TRUE(contains(page, text)) << text;
}

TEST(RunPageTest, TellsWhatWentWrong)
{
  const Json run = Json::parse(R"({"status": "failed", "message": "-m: a<b>.nii: cut off", "stages": [],
    "quality": null, "inputs": {"fixed": [], "moving": []}, "host": "</script><b>"})");
  const std::string page = runPage(run, nullptr, {});
  EXPECT_PRED2(contains, page, "<li>-m: a&lt;b&gt;.nii: cut off</li>");
  EXPECT_EQ(page.find("<b>.nii"), std::string::npos);
  EXPECT_EQ(page.find("</script><b>"), std::string::npos); // in the data either
  EXPECT_EQ(page.find("http"), page.find("http-equiv"));
  EXPECT_EQ(page.find("http", page.find("http") + 1), std::string::npos);
}

TEST(RunPageTest, TellsTheNamesOfAFailedRunAndItsSummaryAndMethods)
{
  const char* text = R"({"status": "failed", "message": "cut off", "inputFiles": [
    {"role": "f0", "path": "a/fixed.nii"}, {"role": "m0", "path": "b/moving/"}], "inputs": {"fixed": [], "moving": []}})";
  Json run = Json::parse(text);
  EXPECT_PRED2(contains, runPage(run, nullptr, {}), "<h1>moving registered to fixed.nii</h1>");
  EXPECT_FALSE(contains(runPage(run, nullptr, {}), "id=\"methods\""));
  run.update(Json::parse(R"({"status": "done", "version": "1.2", "seconds": 3,
    "inputs": {"fixed": [{"size": [5, 6], "spacingMm": [0.5, 1]}], "moving": [{"size": [7, 8], "spacingMm": [1, 1]}],
               "fixedMasks": []},
    "quality": {"dice": {"mean": 0.8, "meanBefore": 0.25, "labels": {"4": 0.9, "17": 0.7},
                         "labelsBefore": {"4": 0.3, "17": 0.2}}, "labels": {"17": {"name": "Left-Hippocampus"}}},
    "stages": [{"transform": "EulerTransform", "metrics": ["NMI"], "optimizer": "ASGD", "parameterFile": "x/R.txt",
                "levels": [{}, {}], "parameters": {"NumberOfSpatialSamples": {"values": ["2048"]},
                  "FinalGridSpacingInPhysicalUnits": {"values": ["8"], "given": false},
                  "FinalGridSpacingInVoxels": {"values": ["5"], "given": true},
                                                   "NewSamplesEveryIteration": {"values": ["true"]}}}]})"));
  std::vector<double> noisy;
  for (int i = 0; i < 100; ++i)
    noisy.push_back(i % 2);
  const std::string page = runPage(run, nullptr, {{noisy, noisy}});
  EXPECT_PRED2(contains, page, "Dice <b>0.25 &#8594; 0.8</b>");
  EXPECT_PRED2(contains, page, "5 x 6 voxels of 0.5 x 1 mm");
  EXPECT_PRED2(contains, page,
               "Stage 1: EulerTransform, NMI, ASGD, 2 resolution levels, 2048 samples, a final grid of 5 "
               "voxels (R.txt).");
  EXPECT_PRED2(contains, page, "The mean Dice coefficient of 2 labels was 0.25 before and 0.8 after.");
  run["quality"]["points"] = {{"count", 9}, {"beforeMm", 4}, {"meanMm", 1}};
  EXPECT_PRED2(contains, runPage(run, nullptr, {}), "9 pairs of landmarks was 4 mm before and 1 mm after.");
  run["stages"][0]["transform"] = "SplineKernelTransform";
  EXPECT_PRED2(contains, runPage(run, nullptr, {}),
               "9 pairs of landmarks, from which the result was made and which do not test it, was 4 mm");
  EXPECT_LT(page.find("<td>17 Left-Hippocampus</td>"), page.find("<td>4</td>")); // the worst first
  EXPECT_PRED2(contains, page, "means over a fifth of the iterations");
  std::size_t figures = 0;
  for (std::size_t at = page.find("<svg class=\"c\""); at != std::string::npos;
       at = page.find("<svg class=\"c\"", at + 1))
    ++figures;
  EXPECT_EQ(figures, 1U); // of the stage with both its levels
}

TEST(RunPageTest, ItsPartOfTheCohortIsPutInAgainAndAgain)
{
  const std::string page = runPage(Json{{"status", "done"}}, nullptr, {});
  const std::string once = withCohortPart(page, "<p>first</p>"),
                    twice = withCohortPart(once, "<p>second</p>");
  EXPECT_PRED2(contains, once, "<p>first</p>");
  EXPECT_PRED2(contains, twice, "<p>second</p>");
  EXPECT_EQ(twice.find("<p>first</p>"), std::string::npos);
  EXPECT_PRED2(contains, page, "<b class=\"big done\">done</b>");
  EXPECT_EQ(once.find("class=\"big"), std::string::npos); // there is one verdict, that of the cohort
  EXPECT_EQ(withCohortPart("another page", "x"), "another page");
}

TEST(SlicePicturesTest, AMaskAndAFillingLeaveBothImagesOneWindow)
{
  const TransformChain<3> chain = translation(0);
  auto filled = std::make_shared<Image<3>>(*ball(0));
  for (std::size_t i = 0; i < filled->voxels.size(); ++i)
    if (filled->voxels[i] == 0)
      filled->voxels[i] = i % 3 == 0 ? -2048.0F : static_cast<float>(i % 17);
  auto mask = std::make_shared<Mask<3>>(filled->geometry, std::vector<std::uint8_t>(filled->voxels.size()));
  for (std::size_t i = 0; i < filled->voxels.size(); ++i)
    mask->voxels[i] = filled->voxels[i] > 400;
  const ShownRun<3> run{filled, filled, mask, identityMatrix<3>(), nullptr, &chain, nullptr, nullptr};
  const RunPictures pictures = picturesOf<3>(run);
  for (const GreyRange& range : pictures.greyRanges) {
    EXPECT_GE(range.black, 0);
    EXPECT_GT(range.white, 500);
  }
  for (const SlicePicture& slice : pictures.slices) {
    EXPECT_EQ(slice.fixed, slice.warped) << slice.plane << slice.position;
    EXPECT_NE(slice.fixedMask, "");
  }
  EXPECT_PRED2(contains, runPage(Json{{"status", "done"}}, &pictures, {}), "(white) in both images");
}

TEST(SlicePicturesTest, LandmarksAreDrawnWhereTheImagesShowThem)
{
  const TransformChain<3> chain = translation(3);
  ShownRun<3> run{ball(0), ball(4), nullptr, identityMatrix<3>(), nullptr, &chain, nullptr, nullptr};
  run.points = {{{18, 17, 15}}, {{22, 17, 15}}}; // 4 mm to the right; the transform finds 3
  std::size_t drawn = 0;
  for (const SlicePicture& slice : picturesOf<3>(run).slices)
    for (const SlicePicture::Landmark& landmark : slice.landmarks) {
      ++drawn;
      if (slice.plane != "axial")
        continue;
      const double half = 2.0 * static_cast<double>(slice.width) / 40; // units of a picture in a mm
      EXPECT_NEAR(landmark.fixed[0], 18.5 * half, 1e-9);
      EXPECT_NEAR(landmark.before[0], 22.5 * half, 1e-9);
      EXPECT_NEAR(landmark.warped[0], 19.5 * half, 1e-9);
    }
  EXPECT_EQ(drawn, 3U); // once in each plane
}

TEST(SlicePicturesTest, ColoursStay)
{
  auto grey = std::make_shared<Image<2>>();
  grey->geometry.size = {40, 30};
  grey->geometry.spacingMm = {1, 1};
  grey->voxels.assign(1200, 100);
  std::vector<ImagePointer<2>> colours(3, grey);
  auto red = std::make_shared<Image<2>>(*grey);
  red->voxels.assign(1200, 230);
  colours[0] = red;
  ShownRun<2> run{grey, grey, nullptr, identityMatrix<2>(), nullptr, nullptr, nullptr, nullptr};
  const std::string ofGrey = picturesOf<2>(run).slices.front().fixed;
  run.fixedColours = colours;
  const std::string coloured = picturesOf<2>(run).slices.front().fixed;
  const auto components = [](const std::string& jpeg) { // of its frame header
    return static_cast<int>(jpeg[jpeg.find("\xff\xc0") + 9]);
  };
  EXPECT_EQ(components(ofGrey), 1);
  EXPECT_EQ(components(coloured), 3);
}

TEST(SlicePicturesTest, ImagesOfTwoKindsHaveTheirOwnWindows)
{
  const GreyRange ct{-1000, 400}, contrasted{-1000, 1100}, mr{0, 255};
  EXPECT_EQ(greyRangesOf(ct, contrasted)[0].white, 1100);
  EXPECT_EQ(greyRangesOf(ct, mr)[0].white, 400);
  EXPECT_EQ(greyRangesOf(ct, mr)[1].white, 255);
  EXPECT_EQ(greyRangeOf({0, 0, 0, 5, 5, 5}).white, 5); // two values alone stay
  EXPECT_EQ(greyRangeOf({7, 7}).line()(7), 127.5F);
}

TEST(RunVerdictTest, SmallLabelsAndThoseOfOneImageAreToldAndNotJudged)
{
  const auto judged = [](const char* size, const char* label) {
    return judgedAlone(Json::parse(std::string(R"({"status": "done", "inputs": {"fixed": [{"size": )") + size
                                   + R"(}]}, "quality": {"dice": {"labels": {"72": 0.0}}, "labels": {"72": )"
                                   + label + "}}}"));
  };
  const char *ofOne = R"({"fixedVolume": 0, "movingVolume": 500, "fixedVoxels": 0, "movingVoxels": 500})",
             *fewVoxels =
                 R"({"fixedVolume": 500, "movingVolume": 99, "fixedVoxels": 500, "movingVoxels": 99})",
             *littleVolume =
                 R"({"fixedVolume": 50, "movingVolume": 50, "fixedVoxels": 500, "movingVoxels": 500})",
             *large = R"({"fixedVolume": 100, "movingVolume": 100, "fixedVoxels": 100, "movingVoxels": 100})";
  for (const char* label : {ofOne, fewVoxels, littleVolume}) {
    EXPECT_EQ(judged("[9, 9, 9]", label).verdict, Verdict::done) << label;
    ASSERT_EQ(judged("[9, 9, 9]", label).notes.size(), 1U) << label;
    EXPECT_PRED2(contains, judged("[9, 9, 9]", label).notes.front(), "72");
  }
  EXPECT_EQ(judged("[9, 9, 9]", large).reasons, std::vector<std::string>{"labels that do not meet: 72"});
  EXPECT_EQ(judged("[9, 9]", littleVolume).verdict, Verdict::look); // an area has no ml
}

TEST(RunVerdictTest, NamesWhatIsWorseThanBefore)
{
  const auto reasons = [](const char* quality, const char* stages) {
    return judgedAlone(Json::parse(std::string(R"({"status": "done", "quality": )") + quality
                                   + R"(, "stages": )" + stages + "}"))
        .reasons;
  };
  EXPECT_EQ(reasons(R"({"overlap": 0.9, "correlationBefore": 0.5, "correlation": 0.8})", "[]").size(), 0U);
  EXPECT_EQ(reasons(R"({"overlap": 0.4, "correlationBefore": 0.5, "correlation": 0.3,
                        "points": {"beforeMm": 2, "meanMm": 3}, "dice": {"mean": 0.4, "labels": {"3": 0.0, "4": 0.8}}})",
                    R"([{"spatialJacobianDeterminant": {"foldedVoxels": 5, "voxels": 1000}}])")
                .size(),
            5U);
  EXPECT_EQ(reasons(R"({"dice": {"meanBefore": 0.83, "mean": 0.80, "labels": {}}})", "[]").size(), 1U);
  EXPECT_EQ(reasons(R"({"dice": {"meanBefore": 0.83, "mean": 0.825, "labels": {}}})", "[]").size(), 0U);
  EXPECT_EQ(judgedAlone(Json::parse(R"({"status": "interrupted", "message": ""})")).verdict,
            Verdict::interrupted);
}

}
}
