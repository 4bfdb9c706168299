#include "Core/Registration/TransformFiles/TransformFile.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/ModelTransforms.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
ImagePointer<D> fixedImage()
{
  return std::make_shared<Image<D>>(noiseImage<D>(obliqueGeometry<D>(perAxis<D>(std::size_t(19), -3)), 3));
}

/// T(x) of points in and around the image.
template <int D>
std::vector<double> mapped(const TransformChain<D>& chain, const ImageGeometry<D>& image)
{
  std::vector<double> mm;
  const std::vector<double> places = checks::randomVector(D * 50, 5, -0.2, 1.2);
  for (std::size_t i = 0; i < places.size(); i += D) {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = places[i + d] * static_cast<double>(image.size[d]);
    point = mappedPoint<D>(chain, image.pointFromIndex()(point));
    mm.insert(mm.end(), point.begin(), point.end());
  }
  return mm;
}

/// Texts, maps and the chain of them say what `chain` says.
template <int D>
void expectTheSameFromMaps(const TransformChain<D>& chain, const std::string& what)
{
  SCOPED_TRACE(what);
  std::vector<std::string> warnings;
  TransformFileSource<D> source{
      .chain = &chain, .fixed = fixedImage<D>()->geometry, .useDirectionCosines = false};
  std::vector<TransformMap> maps;
  for (const std::string& text : transformChainTexts<D>(source, warnings))
    maps.push_back(mapOf(text));
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };

  const TransformFileContent<D> content = transformFromMaps<D>({}, maps, allComponents(), warn);

  for (const std::string& line : warnings) // some splines warn of their kernels
    EXPECT_FALSE(contains(line, "Initial")) << line;
  EXPECT_EQ(content.map, maps.back());
  EXPECT_EQ(content.output, source.fixed);
  EXPECT_FALSE(content.useDirectionCosines);
  const TransformChain<D>* found = content.chain.get();
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get()) {
    ASSERT_TRUE(found);
    EXPECT_EQ(found->transform->name(), link->transform->name());
    EXPECT_EQ(found->combination, link->combination);
    EXPECT_EQ(found->parameters, link->parameters);
    found = found->initial.get();
  }
  EXPECT_FALSE(found);
  EXPECT_EQ(mapped<D>(*content.chain, source.fixed), mapped<D>(chain, source.fixed));
}

template <int D>
void expectTheSameOfParametricTransforms()
{
  const ImagePointer<D> fixed = fixedImage<D>();
  for (const std::string word : {"T", "E", "S", "A", "B", "BASET"})
    expectTheSameFromMaps<D>(letterChain<D>(word, fixed), word);
  TransformChain<D> added = letterChain<D>("BA", fixed);
  added.combination = Combination::add;
  expectTheSameFromMaps<D>(added, "added");
  for (const std::string& type : D == 2 ? std::vector<std::string>{"ThinPlateSpline"} : splineTypes)
    expectTheSameFromMaps<D>(splineOf<D>(type, scatteredLandmarks<D>(fixed->geometry, 9, 1.5)), type);
}

TEST(TransformMaps, GiveTheChainThatTheyAreMadeOf)
{
  expectTheSameOfParametricTransforms<2>();
  expectTheSameOfParametricTransforms<3>();
}

TEST(TransformMaps, TransformsThatNameFilesToo)
{
  const ImagePointer<3> fixed = fixedImage<3>();
  const TemporaryFolder folder;
  VectorImage<3> field{fixed->geometry, 3, {}};
  for (const double value : checks::randomVector(3 * fixed->voxels.size(), 61, -2, 2))
    field.voxels.push_back(static_cast<float>(value));
  writeVectorImage(folder / "field.mha", field, false);
  std::vector<std::string> warnings, names;
  for (const std::string word : {"A", "B"}) {
    const TransformChain<3> chain = letterChain<3>(word, fixed);
    TransformFileSource<3> source{.chain = &chain, .fixed = fixed->geometry};
    names.push_back(folder.write(word + ".txt", transformFileText<3>(source, warnings)));
  }
  const TransformMap ofField = mapOf("(Transform \"DeformationFieldTransform\")\n(DeformationFieldFileName \""
                                     + (folder / "field.mha") + "\")\n(UseDirectionCosines \"false\")\n"),
                     combination = mapOf("(Transform \"WeightedCombinationTransform\")\n(SubTransforms \""
                                         + names[0] + "\" \"" + names[1]
                                         + "\")\n(NumberOfParameters 2)\n(TransformParameters 0.3 0.6)\n");
  expectTheSameFromMaps<3>(
      *chainFromMaps<3>({}, std::vector<TransformMap>{ofField, combination}, allComponents(), {}), "files");
}

TEST(TransformMaps, TheirOrderTakesThePlaceOfInitialTransforms)
{
  const auto translation = [](const std::string& x, const std::string& initial) {
    return mapOf("(Transform \"TranslationTransform\")\n(NumberOfParameters 2)\n(TransformParameters " + x
                     + " 0)\n(InitialTransformParameterFileName \"" + initial
                     + "\")\n(InitialTransformParametersFileName \"" + initial + "\")\n",
                 "map of " + x);
  };
  std::vector<std::string> warnings;
  const auto read = [&](const std::vector<TransformMap>& maps) {
    return chainFromMaps<2>({}, maps, allComponents(),
                            [&](const std::string& line) { warnings.push_back(line); });
  };
  const auto chain = read({translation("1", "NoInitialTransform"), translation("10", "missing.txt"),
                           translation("100", "NoInitialTransform")});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(chain->parameters[0], 100);
  EXPECT_EQ(chain->initial->parameters[0], 10);
  EXPECT_EQ(chain->initial->initial->parameters[0], 1);
  EXPECT_EQ(chain->initial->initial->initial, nullptr);
}

TEST(TransformMaps, TheInitialTransformOfTheFirstOneIsRead)
{
  const TemporaryFolder folder;
  const auto after = [](const std::string& initial) {
    const TransformMap map = mapOf("(Transform \"TranslationTransform\")\n(TransformParameters 1 0)\n"
                                   "(InitialTransformParameterFileName \""
                                   + initial + "\")\n");
    return chainFromMaps<2>({}, std::vector<TransformMap>{map, map}, allComponents(), {});
  };
  const std::string file =
      folder.write("initial.txt", "(Transform \"TranslationTransform\")\n(TransformParameters 5 0)\n");
  EXPECT_EQ(after(file)->initial->initial->parameters[0], 5);
  EXPECT_PRED2(contains, errorText([&] { after(folder / "missing.txt"); }, ExitCode::unreadableInput),
               "missing.txt");
}

TEST(TransformMaps, WhatIsNoChainIsRefusedByName)
{
  const auto refusal = [](const std::vector<TransformMap>& maps) {
    return errorText([&] { transformFromMaps<2>({}, maps, allComponents(), {}); }, ExitCode::unreadableInput);
  };
  const std::string translation = "(Transform \"TranslationTransform\")\n(TransformParameters 1 0)\n";
  EXPECT_PRED2(contains, refusal({}), "Allowed: at least one transform");
  EXPECT_PRED2(contains, refusal({mapOf("(Metric \"X\")\n", "start")}), "start: this is a parameter file");
  EXPECT_PRED2(contains, refusal({mapOf("(Size 4 4)\n", "start")}), "start");
  EXPECT_PRED2(contains, refusal({mapOf(translation, "start")}), "the output has no grid");
  EXPECT_PRED2(contains, refusal({mapOf(translation + "(FixedImageDimension 3)\n", "start")}),
               "in another dimension");
  const ImageGeometry<2> grid = centredGeometry<2>({4, 4}, {1, 1});
  EXPECT_EQ(
      transformFromMaps<2>({}, std::vector<TransformMap>{mapOf(translation)}, allComponents(), {}, &grid)
          .output,
      grid);
}

}
}
