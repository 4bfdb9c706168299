#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Registration/Transform.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/ParameterText.h"

#include <filesystem>
#include <fstream>

using namespace tessera;
using namespace tessera::testing;
namespace fs = std::filesystem;

namespace {

class TransformFile : public ::testing::Test {
protected:
  tessera::testing::TemporaryFolder folder;
  Registry registry;
  std::vector<std::string> warnings;
  Parameters::Warn warn = [this](const std::string& line) { warnings.push_back(line); };

  void SetUp() override
  {
    registry.add<Transform<2>, TranslationTransform<2>>();
    registry.add<Transform<3>, TranslationTransform<3>>();
    registry.add<Transform<2>, EulerTransform<2>>();
    registry.add<Transform<3>, EulerTransform<3>>();
    registry.add<Transform<2>, AffineTransform<2>>();
    registry.add<Transform<3>, AffineTransform<3>>();
    registry.add<Transform<3>, SimilarityTransform<3>>();
  }

  /// Where the transform of a file in the plane takes a point.
  Vec<2> mappedBy(const std::string& path, const Vec<2>& pointMm)
  {
    return mappedPoint<2>(*readTransformFile<2>({}, path, registry, warn).chain, pointMm);
  }
  /// A translation in the plane with an output grid.
  static std::string translation(const std::string& values, const std::string& more = "")
  {
    return "(Transform \"TranslationTransform\")\n(NumberOfParameters 2)\n(TransformParameters " + values
           + ")\n(FixedImageDimension 2)\n(MovingImageDimension 2)\n(Size 4 5)\n" + more;
  }
};

/// An Euler transform as registration would leave it.
TransformChain<3> eulerChain(const std::string& more = "")
{
  const Parameters parameters = parametersOf(
      "(CenterOfRotationPoint -75.5 0.1 -1274.5082611211)\n(TransformParameters 0 0 0 0 0 0)\n" + more, 3, 1,
      "");
  auto transform = std::make_shared<EulerTransform<3>>(parameters);
  transform->restore({}, parameters);
  return {
      nullptr, Combination::compose, transform, {0.000128, -2.9e-05, 1.0 / 3, -0.028817, 1e-7, 123456.789}};
}

ImageGeometry<3> lungGeometry()
{
  ImageGeometry<3> geometry{{57, 78, 64}, {2.732, 2.732, 5}, {-152.461, -148.986, -1432}};
  geometry.direction = {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}};
  return geometry;
}

}

TEST_F(TransformFile, HasTheLayoutThatTransformix501Writes)
{
  const TransformChain<3> chain = eulerChain();
  TransformFileSource<3> source;
  source.chain = &chain;
  source.initialPath = "out//TransformParameters.0.txt";
  source.fixed = lungGeometry();
  source.sections = {
      {"ResampleInterpolator specific", {{"ResampleInterpolator", {"FinalBSplineInterpolator"}, {}}}},
      {"Resampler specific", {{"DefaultPixelValue", {}, {-1000}}}}};

  EXPECT_EQ(transformFileText<3>(source, warnings), R"file((Transform "EulerTransform")
(NumberOfParameters 6)
(TransformParameters 0.000128 -2.9e-05 0.3333333333333333 -0.028817 1e-07 123456.789)
(InitialTransformParametersFileName "out/TransformParameters.0.txt")
(InitialTransformParameterFileName "out/TransformParameters.0.txt")
(UseBinaryFormatForTransformationParameters "false")
(HowToCombineTransforms "Compose")

// Image specific
(FixedImageDimension 3)
(MovingImageDimension 3)
(FixedInternalImagePixelType "float")
(MovingInternalImagePixelType "float")
(Size 57 78 64)
(Index 0 0 0)
(Spacing 2.732 2.732 5)
(Origin -152.461 -148.986 -1432)
(Direction 0 1 0 -1 0 0 0 0 1)
(UseDirectionCosines "true")

// EulerTransform specific
(CenterOfRotationPoint -75.5 0.1 -1274.5082611211)
(ComputeZYX "false")

// ResampleInterpolator specific
(ResampleInterpolator "FinalBSplineInterpolator")

// Resampler specific
(DefaultPixelValue -1000)
)file");
  EXPECT_TRUE(warnings.empty());
}

TEST_F(TransformFile, ReadsBackTheSameBits)
{
  const TransformChain<3> chain = eulerChain("(ComputeZYX \"true\")");
  TransformFileSource<3> source{.chain = &chain, .fixed = lungGeometry()};

  const TransformFileContent<3> content =
      readTransformFile<3>({}, folder.write("t.txt", transformFileText<3>(source, warnings)), registry, warn);

  EXPECT_EQ(content.chain->parameters, chain.parameters);
  EXPECT_EQ(content.output, source.fixed);
  EXPECT_TRUE(content.useDirectionCosines);
  const Vec<3> point{12, 34, 56};
  EXPECT_EQ(mappedPoint<3>(*content.chain, point), mappedPoint<3>(chain, point));
}

TEST_F(TransformFile, ManyNumbersOfManyThreadsComeInTheirOrder)
{
  const TransformChain<3> chain = eulerChain();
  TransformFileSource<3> source{.chain = &chain};
  FileEntry many{"Weights", {}, {}};
  std::string expected = "(Weights";
  for (int i = 0; i < 300000; ++i) {
    many.numbers.push_back(i / 7.0);
    expected += ' ' + realText(i / 7.0);
  }
  source.sections = {{"Many", {many}}};
  source.threads = 5;

  const std::string path = folder / "t.txt", text = transformFileText<3>(source, warnings);
  writeTextFile(path, transformFilePieces<3>(source, warnings));

  EXPECT_TRUE(text.ends_with("// Many\n" + expected + ")\n"));
  EXPECT_EQ(folder.read("t.txt") == text, true);
}

TEST_F(TransformFile, ItkFileTakesThePlaceOfParameters)
{
  const TransformChain<3> chain = eulerChain();
  TransformFileSource<3> source{.chain = &chain, .itkPath = "out/TransformParameters.0.tfm"};

  const std::string text = transformFileText<3>(source, warnings);

  EXPECT_EQ(text.rfind("(Transform \"File\")\n(TransformFileName \"out/TransformParameters.0.tfm\")\n", 0),
            0u);
  EXPECT_EQ(text.find("(TransformParameters "), std::string::npos);
  EXPECT_EQ(text.find("CenterOfRotationPoint"), std::string::npos);
}

TEST_F(TransformFile, WarnsOnceOfAValueThat501Refuses)
{
  const TransformChain<3> chain = eulerChain();
  TransformFileSource<3> source{.chain = &chain, .initialPath = "a,b/TransformParameters.0.txt"};

  transformFileText<3>(source, warnings);

  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_PRED2(contains, warnings[0], "5.0.1 refuses a file with ','");
}

TEST_F(TransformFile, WhatNoFileCanHoldIsAnError)
{
  TransformChain<3> chain = eulerChain();
  TransformFileSource<3> source{.chain = &chain, .initialPath = "a\"b"};
  EXPECT_THROW(transformFileText<3>(source, warnings), Error);
  source.initialPath = "NoInitialTransform";
  chain.parameters[2] = std::nan("");
  EXPECT_THROW(transformFileText<3>(source, warnings), Error);
}

TEST_F(TransformFile, ChainComposesOrAdds)
{
  folder.write(
      "first.txt",
      "(Transform \"AffineTransform\")\n(TransformParameters 2 0 0 2 0 0)\n(CenterOfRotationPoint 0 0)\n");
  const std::string composed = folder.write(
      "compose.txt", "(Transform \"AffineTransform\")\n(TransformParameters 0 1 1 0 5 6)\n(Size 4 5)\n"
                     "(CenterOfRotationPoint 0 0)\n(InitialTransformParameterFileName \"first.txt\")\n");
  const std::string added =
      folder.write("add.txt", translation("5 6", "(InitialTransformParametersFileName \"first.txt\")\n"
                                                 "(HowToCombineTransforms \"Add\")\n"));

  EXPECT_EQ(mappedBy(composed, {1, 10}), (Vec<2>{25, 8}));
  EXPECT_EQ(mappedBy(added, {1, 10}), (Vec<2>{7, 26}));
}

TEST_F(TransformFile, NewerInitialKeyWinsWithAWarning)
{
  folder.write("one.txt", translation("1 0"));
  folder.write("two.txt", translation("2 0"));
  const std::string path =
      folder.write("t.txt", translation("0 0", "(InitialTransformParametersFileName \"one.txt\")\n"
                                               "(InitialTransformParameterFileName \"two.txt\")\n"));

  EXPECT_EQ(mappedBy(path, {0, 0}), (Vec<2>{2, 0}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_PRED2(contains, warnings[0], "one.txt");
}

TEST_F(TransformFile, OfTwoInitialKeysTheOneThatAProgramEditedIsUsed)
{
  const std::string one = folder.write("one.txt", translation("1 0")),
                    copy = folder.write("copy.txt", translation("1 0")),
                    digest = "(InitialTransformSHA256 \"" + transformDigest(one) + "\")\n";
  const auto xWith = [&](const std::string& old, const std::string& newer, const std::string& more) {
    const std::string path =
        folder.write("t.txt", translation("10 0", "(InitialTransformParametersFileName \"" + old
                                                      + "\")\n(InitialTransformParameterFileName \"" + newer
                                                      + "\")\n" + more));
    return mappedBy(path, {0, 0})[0];
  };
  const std::string none = "NoInitialTransform";
  EXPECT_EQ(xWith(none, "one.txt", digest), 10); // front ends of elastix up to 5.1 edit the old key alone
  EXPECT_EQ(xWith("one.txt", none, digest), 10);
  EXPECT_EQ(xWith("one.txt", none, ""), 11); // there was none before
  EXPECT_EQ(xWith(none, "one.txt", ""), 11);
  EXPECT_EQ(xWith(copy, "one.txt", digest), 11);
  EXPECT_EQ(warnings.size(), 5u);
  folder.write("copy.txt", translation("2 0"));
  EXPECT_THROW(xWith(copy, "one.txt", digest), Error); // another transform than the result was made with
}

TEST_F(TransformFile, InitialPathIsSeenFromTheWorkingFolderBeforeTheFilesOwn)
{
  const std::string name = "tessera_initial_transform_here.txt";
  std::ofstream(name) << translation("1 0");
  folder.write(name, translation("2 0"));
  const std::string path =
      folder.write("t.txt", translation("0 0", "(InitialTransformParameterFileName \"" + name + "\")\n"));

  const Vec<2> fromWorkingFolder = mappedBy(path, {0, 0});
  fs::remove(name);
  const Vec<2> fromOwnFolder = mappedBy(path, {0, 0});

  EXPECT_EQ(fromWorkingFolder, (Vec<2>{1, 0}));
  EXPECT_EQ(fromOwnFolder, (Vec<2>{2, 0}));
}

TEST_F(TransformFile, GeometryIsReadColumnByColumnAndIndexMovesTheOrigin)
{
  const std::string path = folder.write(
      "t.txt", translation("0 0", "(Index 2 3)\n(Spacing 0.5 2)\n(Origin 10 20)\n(Direction 0 1 -1 "
                                  "0)\n(UseDirectionCosines \"false\")\n"));

  const TransformFileContent<2> content = readTransformFile<2>({}, path, registry, warn);

  EXPECT_EQ(content.output.size, (Size<2>{4, 5}));
  EXPECT_EQ(content.output.direction, (Matrix<2>{{{0, -1}, {1, 0}}}));
  EXPECT_EQ(content.output.originMm, (Vec<2>{10 - 6, 20 + 1}));
  EXPECT_FALSE(content.useDirectionCosines);
}

TEST_F(TransformFile, BinaryParametersOfVersion50AreRead)
{
  const double values[2] = {1.0 / 3, -7e-9};
  folder.write("t.dat", {reinterpret_cast<const char*>(values), sizeof values});
  const std::string path = folder.write(
      "t.txt",
      "(Transform \"TranslationTransform\")\n(NumberOfParameters 2)\n(TransformParameters \"t.dat\")\n"
      "(UseBinaryFormatForTransformationParameters \"true\")\n(Size 4 5)\n");

  EXPECT_EQ(readTransformFile<2>({}, path, registry, warn).chain->parameters,
            (std::vector<double>{1.0 / 3, -7e-9}));
}

TEST_F(TransformFile, ItkFileIsReadAsATransformFileAndBySuchAFile)
{
  const std::string itk = folder.write(
      "e.tfm", "#Insight Transform File V1.0\n#Transform 0\nTransform: Euler2DTransform_double_2_2\n"
               "Parameters: 0 5 6\nFixedParameters: 1 2\n");
  const std::string path =
      folder.write("t.txt", "(Transform \"File\")\n(TransformFileName \"e.tfm\")\n(Size 4 5)\n");

  EXPECT_EQ(mappedBy(path, {1, 2}), (Vec<2>{6, 8}));
  EXPECT_EQ(mappedPoint<2>(*readTransformChain<2>({}, itk, registry, warn), {1, 2}), (Vec<2>{6, 8}));
  EXPECT_EQ(readTransformDimension(itk), 2u);
}

TEST_F(TransformFile, DimensionIsReadWithoutBuildingTheTransform)
{
  EXPECT_EQ(
      readTransformDimension(folder.write("t.txt", "(Transform \"Nonsense\")\n(FixedImageDimension 3)\n")),
      3u);
  EXPECT_THROW(readTransformDimension(folder.write("u.txt", "(Transform \"Nonsense\")\n")), Error);
}
