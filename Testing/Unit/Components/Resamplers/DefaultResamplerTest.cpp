#include "Components/Resamplers/DefaultResampler.h"

#include "Core/Registration/Fields/TransformFields.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Host.h"
#include "Testing/Support/Naive/ResampleByHand.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

TEST(DefaultResampler, TakesTheMovingValueAtTheMappedPointByHand)
{
  const ImageGeometry<2> grid{{3, 2}, {1, 1}, {0, 0}, identityMatrix<2>()};
  auto moving = std::make_shared<Image<2>>(Image<2>{grid, {1, 2, 3, 10, 20, 30}});

  const Image<2> result =
      resampled<2>("(DefaultPixelValue -7)\n", affineChain<2>(identityMatrix<2>(), {1, 0}), moving, grid);

  EXPECT_EQ(result.voxels, (std::vector<float>{2, 3, -7, 20, 30, -7}));
}

TEST(DefaultResampler, AVoxelThatIsNotValidIsOutside)
{
  const ImageGeometry<2> grid{{3, 2}, {1, 1}, {0, 0}, identityMatrix<2>()};
  auto moving = std::make_shared<Image<2>>(Image<2>{grid, {1, 2, 3, 10, 20, 30}});
  const auto valid = std::make_shared<Mask<2>>(grid, std::vector<std::uint8_t>{1, 1, 1, 1, 0, 1});

  const Image<2> result = resampled<2>("(DefaultPixelValue -7)\n",
                                       affineChain<2>(identityMatrix<2>(), {0, 0}), moving, grid, 1, valid);

  EXPECT_EQ(result.voxels, (std::vector<float>{1, 2, 3, 10, -7, 30}));
}

TEST(DefaultResampler, HalfAVoxelBeyondTheBorderIsStillInside)
{
  const ImageGeometry<2> grid{{3, 2}, {1, 1}, {0, 0}, identityMatrix<2>()};
  auto moving = std::make_shared<Image<2>>(Image<2>{grid, {1, 2, 3, 10, 20, 30}});

  const Image<2> within = resampled<2>("(DefaultPixelValue -7)\n",
                                       affineChain<2>(identityMatrix<2>(), {0.4375, 0}), moving, grid);
  const Image<2> beyond =
      resampled<2>("(DefaultPixelValue -7)\n", affineChain<2>(identityMatrix<2>(), {0.5, 0}), moving, grid);

  EXPECT_EQ(within.voxels[2], 3);  // index 2.4375 lies in [-0.5, 2.5)
  EXPECT_EQ(beyond.voxels[2], -7); // index 2.5 does not
}

TEST(DefaultResampler, AgreesWithANaiveLoopOnAnObliqueGrid)
{
  const ImageGeometry<3> grid = obliqueGrid();
  const ImagePointer<3> moving = imageOf<3>(grid, planeAt);
  Matrix<3> matrix = identityMatrix<3>();
  matrix[0][1] = 0.0625;
  const TransformChain<3> chain = affineChain<3>(matrix, {0.5, -0.75, 1.25});

  const Image<3> result = resampled<3>("(DefaultPixelValue 5000)\n", chain, moving, grid);

  const AffineMap<3> mapping{matrix, {0.5, -0.75, 1.25}}, index = grid.indexFromPoint();
  std::size_t inside = 0;
  const ImagePointer<3> expected = imageOf<3>(grid, [&](const Vec<3>& mm) {
    const Vec<3> mapped = mapping(mm), at = index(mapped);
    bool isInside = true, isBorder = false;
    for (int d = 0; d < 3; ++d) {
      isInside = isInside && at[d] >= -0.5 && at[d] < static_cast<double>(grid.size[d]) - 0.5;
      isBorder = isBorder || at[d] < 0
                 || at[d] > static_cast<double>(grid.size[d]) - 1; // the plane is not continued there
    }
    inside += isInside && !isBorder;
    return !isInside ? 5000.0f : isBorder ? std::numeric_limits<float>::quiet_NaN() : planeAt(mapped);
  });
  ASSERT_GT(inside, grid.voxelCount() / 2);
  for (std::size_t v = 0; v < grid.voxelCount(); ++v)
    if (!std::isnan(expected->voxels[v])) {
      EXPECT_NEAR(result.voxels[v], expected->voxels[v], 32 * std::numeric_limits<float>::epsilon() * 150)
          << v; // 8 corners of < 150
    }
}

TEST(DefaultResampler, GivesTheSameBitsForAnyThreadCount)
{
  const ImageGeometry<3> grid{{67, 43, 11}, {0.7, 1.1, 2.3}, {0, 0, 0}, identityMatrix<3>()};
  const ImagePointer<3> moving = imageOf<3>(grid, planeAt);
  const TransformChain<3> chain = affineChain<3>(identityMatrix<3>(), {0.3, 0.2, 0.1});

  const Image<3> one = resampled<3>("", chain, moving, grid, 1);

  EXPECT_EQ(resampled<3>("", chain, moving, grid, 2).voxels, one.voxels);
  EXPECT_EQ(resampled<3>("", chain, moving, grid, 5).voxels, one.voxels);
}

TEST(DefaultResampler, WritesAnotherGridThanTheMovingImages)
{
  const ImageGeometry<2> moving{{4, 1}, {1, 1}, {0, 0}, identityMatrix<2>()};
  const ImageGeometry<2> output{{2, 1}, {2, 1}, {1, 0}, identityMatrix<2>()};
  auto image = std::make_shared<Image<2>>(Image<2>{moving, {5, 6, 7, 8}});

  const Image<2> result = resampled<2>("", affineChain<2>(identityMatrix<2>(), {0, 0}), image, output);

  EXPECT_EQ(result.geometry, output);
  EXPECT_EQ(result.voxels, (std::vector<float>{6, 8}));
}

TEST(DefaultResampler, ReadsElastixDefaults)
{
  const DefaultResampler<3> resampler(parametersOf("(Transform \"x\")\n", 3));

  EXPECT_EQ(resampler.resultImage().name, "result");
  EXPECT_EQ(resampler.resultImage().format, "mhd");
  EXPECT_EQ(resampler.resultImage().pixelType, PixelType::int16);
  EXPECT_FALSE(resampler.resultImage().compress);
  EXPECT_TRUE(resampler.writesFinalResult());
  EXPECT_FALSE(resampler.writesResultAfterLevel(0));
  EXPECT_FALSE(resampler.writesResultAfterIterations(1));
}

TEST(DefaultResampler, ReadsResultsPerLevel)
{
  const DefaultResampler<2> resampler(
      parametersOf("(WriteResultImage \"false\")\n(ResultImageName \"warped\")\n"
                   "(WriteResultImageAfterEachResolution \"false\" \"true\")\n",
                   2, 2));

  EXPECT_FALSE(resampler.writesFinalResult());
  EXPECT_FALSE(resampler.writesResultAfterLevel(0));
  EXPECT_TRUE(resampler.writesResultAfterLevel(1));
  EXPECT_EQ(resampler.resultImage().name, "warped");
}

TEST(DefaultResampler, RefusesWhatCannotBeWritten)
{
  for (const char* text :
       {"(ResultImagePixelType \"foo\")\n", "(ResultImageFormat \"xyz\")\n", "(ResultImageName \"a/b\")\n",
        "(WriteResultImage \"True\")\n", "(ResampleExtrapolation \"mirror\")\n"})
    EXPECT_TRUE(errorText([&] { DefaultResampler<2>(parametersOf(text, 2)); }).starts_with("text:1: ("))
        << text;
}

TEST(DefaultResampler, FileEntriesReadBackAsTheSameSettings)
{
  const DefaultResampler<2> resampler(
      parametersOf("(DefaultPixelValue -1024)\n(ResultImageFormat \"nii.gz\")\n"
                   "(ResultImagePixelType \"float\")\n(CompressResultImage \"true\")\n"
                   "(ResampleExtrapolation \"Mirror\")\n",
                   2));
  std::string text;
  for (const FileEntry& entry : resampler.fileEntries())
    text += "(" + entry.name + " "
            + (entry.texts.empty() ? numbers(entry.numbers) : "\"" + entry.texts[0] + "\"") + ")\n";
  const DefaultResampler<2> again(parametersOf(text, 2));

  EXPECT_EQ(again.resultImage().format, "nii.gz");
  EXPECT_EQ(again.resultImage().pixelType, PixelType::float32);
  EXPECT_TRUE(again.resultImage().compress);
  EXPECT_PRED2(contains, text, "(Resampler \"DefaultResampler\")");
  EXPECT_PRED2(contains, text, "-1024");
  EXPECT_PRED2(contains, text, "(ResampleExtrapolation \"Mirror\")");
}

TEST(TransformFieldsOfAMatrix, AreThoseOfTheMatrix)
{
  const ImageGeometry<3> grid = obliqueGrid();
  const Matrix<3> matrix{{{1.25, 0.5, 0}, {0, 0.75, 0.125}, {0.0625, 0, 1.5}}};
  const TransformChain<3> chain = affineChain<3>(matrix, {1, 2, 3});
  Context context{{}, 2};

  const VectorImage<3> field = displacementField<3>(context, chain, grid),
                       matrices = jacobianMatrices<3>(context, chain, grid);
  const Image<3> determinants = jacobianDeterminants<3>(context, chain, grid);

  const std::size_t last = grid.voxelCount() - 1;
  const Vec<3> mm = grid.pointFromIndex()({16, 18, 22}), mapped = AffineMap<3>{matrix, {1, 2, 3}}(mm);
  for (int d = 0; d < 3; ++d)
    EXPECT_NEAR(field.voxels[3 * last + d], mapped[d] - mm[d],
                std::numeric_limits<float>::epsilon() * 100); // one rounding to float
  for (int entry = 0; entry < 9; ++entry)
    EXPECT_EQ(matrices.voxels[9 * last + entry], static_cast<float>(matrix[entry / 3][entry % 3]));
  for (const float value : determinants.voxels)
    EXPECT_NEAR(value, determinant(matrix),
                4 * std::numeric_limits<float>::epsilon() * determinant(matrix)); // roundings of products
}

}
}
