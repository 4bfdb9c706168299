#pragma once

// Resampling beside itk::ResampleImageFilter, for tests that link ITK.

#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/Scenes/ResampleScenes.h"
#include "Tools/Bench/Rivals/ItkResample.h"

#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {

constexpr float outsideOfItk = -5000;

struct InterpolationWay {
  std::string name;
  int order;
};

inline const std::vector<InterpolationWay> interpolationWays{
    {"NearestNeighborInterpolator", 0}, {"LinearInterpolator", 1},  {"BSplineInterpolator", 0},
    {"BSplineInterpolator", 1},         {"BSplineInterpolator", 2}, {"BSplineInterpolator", 3},
    {"BSplineInterpolator", 4},         {"BSplineInterpolator", 5}};

/// The transforms of a chain, the last one applied first. Throws as Transform::itkTransform.
template <int D>
std::vector<ItkTransform> itkTransformsOf(const TransformChain<D>& chain)
{
  std::vector<ItkTransform> transforms;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    transforms.push_back(link->transform->itkTransform(link->parameters));
  return transforms;
}

template <int D>
std::vector<float> resampledByItk(const ResampleScene<D>& scene, const std::vector<ItkTransform>& transforms,
                                  const InterpolationWay& way)
{
  using Interpolation = typename ItkResampling<D>::Interpolation;
  ItkResampling<D> what{.moving = scene.moving,
                        .transforms = transforms,
                        .interpolation = way.name == "LinearInterpolator"    ? Interpolation::linear
                                         : way.name == "BSplineInterpolator" ? Interpolation::bspline
                                                                             : Interpolation::nearest,
                        .splineOrder = way.order,
                        .output = scene.fixed->geometry,
                        .outside = outsideOfItk};
  ItkResample<D> itk(what);
  itk.run();
  return {itk.voxels(), itk.voxels() + scene.fixed->geometry.voxelCount()};
}

template <int D>
std::vector<float> resampledByUs(const ResampleScene<D>& scene, const TransformChain<D>& chain,
                                 const InterpolationWay& way)
{
  Context context{{}, 2};
  const auto interpolator = preparedInterpolator<D>(context, way.name, scene.moving, way.order);
  const auto resampler = resamplerOf<D>("(DefaultPixelValue " + std::to_string(outsideOfItk) + ")\n");
  return resampledImage<D>(*resampler, context, chain, {interpolator.get(), nullptr}, scene.fixed->geometry)
      .voxels;
}

/// Both in double, rounded to float once; ITK's coefficients and cells may differ in the last bits of a
/// double.
template <int D>
double roundingOf(const ResampleScene<D>& scene, const InterpolationWay& way)
{
  return way.order == 0 ? 0 : std::numeric_limits<float>::epsilon() * largestMagnitude(scene.moving->voxels);
}

/// Every voxel, where both are inside, and which are. `transforms` are those of the chain, `word` tells of
/// both.
template <int D>
void expectAsItk(const ResampleScene<D>& scene, const TransformChain<D>& chain,
                 const std::vector<ItkTransform>& transforms, const InterpolationWay& way,
                 const std::string& word)
{
  const std::vector<float> result = resampledByUs<D>(scene, chain, way);

  const std::vector<float> expected = resampledByItk<D>(scene, transforms, way);
  EXPECT_LE(largestDifference(result, expected), roundingOf<D>(scene, way))
      << word << " " << way.name << " " << way.order;
  const std::size_t outside = std::ranges::count(expected, outsideOfItk);
  EXPECT_LT(outside, expected.size() - expected.size() / 10) << word;
  EXPECT_GT(outside, 0u) << word; // else no border was tried
}

}
