// needs: ITK
#include "Testing/Support/ResampleScenes.h"
#include "Tools/Bench/ItkResample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr float outside = -5000;

struct Way {
  std::string name;
  int order;
};

const Way ways[] = {{"NearestNeighborInterpolator", 0}, {"LinearInterpolator", 1},  {"BSplineInterpolator", 0},
                    {"BSplineInterpolator", 1},         {"BSplineInterpolator", 2}, {"BSplineInterpolator", 3},
                    {"BSplineInterpolator", 4},         {"BSplineInterpolator", 5}};
const std::vector<std::string> words{"T", "E", "S", "A", "B", "AB", "BA", "BB", "TAB", "TABE", "TABES", "EASTB"};

template <int D>
std::vector<float> byItk(const ResampleScene<D>& scene, const TransformChain<D>& chain, const Way& way)
{
  using Interpolation = typename ItkResampling<D>::Interpolation;
  ItkResampling<D> what;
  what.moving = scene.moving;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    what.transforms.push_back(link->transform->itkTransform(link->parameters));
  what.interpolation = way.name == "LinearInterpolator"    ? Interpolation::linear
                       : way.name == "BSplineInterpolator" ? Interpolation::bspline
                                                           : Interpolation::nearest;
  what.splineOrder = way.order;
  what.output = scene.fixed->geometry;
  what.outside = outside;
  ItkResample<D> itk(what);
  itk.run();
  return {itk.voxels(), itk.voxels() + scene.fixed->geometry.voxelCount()};
}

/// Every voxel, where both are inside, and which are.
template <int D>
void expectAsItk(const ResampleScene<D>& scene, const std::string& word, const Way& way)
{
  const TransformChain<D> chain = letterChain<D>(word, scene.fixed);
  Context context{{}, 2};
  const auto interpolator = preparedInterpolator<D>(context, way.name, scene.moving, way.order);

  const Image<D> result = resamplerOf<D>("(DefaultPixelValue " + std::to_string(outside) + ")\n")
                              ->resample(context, chain, {interpolator.get(), nullptr}, scene.fixed->geometry);

  const std::vector<float> expected = byItk<D>(scene, chain, way);
  // both in double, rounded to float once; ITK's coefficients and cells may differ in the last bits of a double
  const double tolerance = way.order == 0 ? 0 : std::numeric_limits<float>::epsilon() * largestMagnitude(scene.moving->voxels);
  std::size_t inside = 0;
  for (std::size_t v = 0; v < expected.size(); ++v) {
    inside += expected[v] != outside;
    ASSERT_NEAR(result.voxels[v], expected[v], tolerance) << word << " " << way.name << " " << way.order << ", voxel " << v;
  }
  EXPECT_GT(inside, expected.size() / 10) << word;
  EXPECT_LT(inside, expected.size()) << word; // else no border was tried
}

TEST(ResampleAgainstItk, EveryTransformAndInterpolatorIn2D)
{
  const ResampleScene<2> scene({37, 41}, {33, 38});
  for (const std::string& word : words)
    for (const Way& way : ways)
      expectAsItk<2>(scene, word, way);
}

TEST(ResampleAgainstItk, EveryTransformAndInterpolatorIn3D)
{
  const ResampleScene<3> scene({17, 19, 13}, {16, 15, 14});
  for (const std::string& word : words)
    for (const Way& way : ways)
      expectAsItk<3>(scene, word, way);
}

TEST(ResampleAgainstItk, OntoAnImageOfOneSliceAndFromOne)
{
  const ResampleScene<3> onto({23, 19, 1}, {21, 18, 12}), from({23, 19, 7}, {22, 18, 1});
  for (const char* word : {"E", "A", "BA"})
    for (const Way& way : ways) {
      expectAsItk<3>(onto, word, way);
      if (way.name != "BSplineInterpolator" || way.order < 2) // ITK has no coefficients of lines shorter than its support
        expectAsItk<3>(from, word, way);
    }
}

/// Rows, columns and layers of voxels whose images lie on voxels, midway between them and on the border of the image.
TEST(ResampleAgainstItk, OnVoxelsAndMidwayBetweenThem)
{
  ResampleScene<3> scene({9, 8, 7}, {9, 8, 7});
  auto moving = std::make_shared<Image<3>>(*scene.moving);
  moving->geometry = {{9, 8, 7}, {2, 1, 4}, {-8, 16, 4}, identityMatrix<3>()};
  auto fixed = std::make_shared<Image<3>>(*moving);
  scene.moving = moving;
  scene.fixed = fixed;
  for (const auto& shift : {Vec<3>{0, 0, 0}, Vec<3>{2, -1, 4}, Vec<3>{1, 0.5, -2}, Vec<3>{-1, -0.5, 2}})
    for (const Way& way : ways) {
      TransformChain<3> chain = letterChain<3>("T", scene.fixed);
      chain.parameters.assign(shift.begin(), shift.end());
      Context context;
      const auto interpolator = preparedInterpolator<3>(context, way.name, scene.moving, way.order);
      const Image<3> result = resamplerOf<3>("(DefaultPixelValue " + std::to_string(outside) + ")\n")
                                  ->resample(context, chain, {interpolator.get(), nullptr}, scene.fixed->geometry);

      const std::vector<float> expected = byItk<3>(scene, chain, way);

      const double tolerance = way.order == 0 ? 0 : std::numeric_limits<float>::epsilon() * largestMagnitude(moving->voxels);
      for (std::size_t v = 0; v < expected.size(); ++v)
        ASSERT_NEAR(result.voxels[v], expected[v], tolerance) << way.name << " " << way.order << " " << shift[0] << ", voxel " << v;
    }
}

}
