// needs: ITK
#include "Testing/Support/Checks/ItkResampleChecks.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

const std::vector<std::string> words{"T",  "E",  "S",   "A",    "B",     "AB",
                                     "BA", "BB", "TAB", "TABE", "TABES", "EASTB"};

template <int D>
void expectWordAsItk(const ResampleScene<D>& scene, const std::string& word, const InterpolationWay& way)
{
  const TransformChain<D> chain = letterChain<D>(word, scene.fixed);
  expectAsItk<D>(scene, chain, itkTransformsOf<D>(chain), way, word);
}

TEST(ResampleAgainstItk, EveryTransformAndInterpolatorIn2D)
{
  const ResampleScene<2> scene({37, 41}, {33, 38});
  for (const std::string& word : words)
    for (const InterpolationWay& way : interpolationWays)
      expectWordAsItk<2>(scene, word, way);
}

TEST(ResampleAgainstItk, EveryTransformAndInterpolatorIn3D)
{
  const ResampleScene<3> scene({17, 19, 13}, {16, 15, 14});
  for (const std::string& word : words)
    for (const InterpolationWay& way : interpolationWays)
      expectWordAsItk<3>(scene, word, way);
}

TEST(ResampleAgainstItk, OntoAnImageOfOneSliceAndFromOne)
{
  const ResampleScene<3> onto({23, 19, 1}, {21, 18, 12}), from({23, 19, 7}, {22, 18, 1});
  for (const char* word : {"E", "A", "BA"})
    for (const InterpolationWay& way : interpolationWays) {
      expectWordAsItk<3>(onto, word, way);
      if (way.name != "BSplineInterpolator"
          || way.order < 2) // ITK has no coefficients of lines shorter than its support
        expectWordAsItk<3>(from, word, way);
    }
}

/// Rows, columns and slices of voxels whose images lie on voxels, midway between them and on the border of
/// the image.
TEST(ResampleAgainstItk, OnVoxelsAndMidwayBetweenThem)
{
  ResampleScene<3> scene({9, 8, 7}, {9, 8, 7});
  auto moving = std::make_shared<Image<3>>(*scene.moving);
  moving->geometry = {{9, 8, 7}, {2, 1, 4}, {-8, 16, 4}, identityMatrix<3>()};
  auto fixed = std::make_shared<Image<3>>(*moving);
  scene.moving = moving;
  scene.fixed = fixed;
  for (const auto& shift : {Vec<3>{0, 0, 0}, Vec<3>{2, -1, 4}, Vec<3>{1, 0.5, -2}, Vec<3>{-1, -0.5, 2}})
    for (const InterpolationWay& way : interpolationWays) {
      TransformChain<3> chain = letterChain<3>("T", scene.fixed);
      chain.parameters.assign(shift.begin(), shift.end());

      const std::vector<float> result = resampledByUs<3>(scene, chain, way);

      const std::vector<float> expected = resampledByItk<3>(scene, itkTransformsOf<3>(chain), way);
      EXPECT_LE(largestDifference(result, expected), roundingOf<3>(scene, way))
          << way.name << " " << way.order << " " << shift[0];
    }
}

}
