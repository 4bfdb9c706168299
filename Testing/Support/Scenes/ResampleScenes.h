#pragma once

#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/Resampler.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <string>

namespace tessera::testing {

/// The composition of the letters of `word`, the last one applied first: T translation, E Euler, S
/// similarity, A affine, B B-spline, its control points 4.3 voxels of `fixed` apart, all by a few voxels
/// about its centre; no index it gives lies on a voxel, nor midway.
template <int D>
TransformChain<D> letterChain(const std::string& word, const ImagePointer<D>& fixed)
{
  const auto make = [&](const std::string& name, std::vector<double> values) {
    std::shared_ptr<Transform<D>> transform = allComponents().create<Transform<D>>(
        name, parametersOf("(FinalGridSpacingInVoxels 4.3)\n", D, 1, "Transform0"), "test");
    std::vector<double> parameters =
        optimizable(*transform).initialize(host, {fixed, fixed, nullptr, nullptr, nullptr, nullptr});
    optimizable(*transform).prepareForLevel(host, 0, parameters);
    if (values.empty())
      values = checks::randomVector(parameters.size(), 7, -2.5, 2.5);
    EXPECT_EQ(values.size(), parameters.size()) << name;
    return TransformChain<D>{.transform = transform, .parameters = values};
  };
  using Values = std::vector<double>;
  TransformChain<D> chain;
  for (auto letter = word.rbegin(); letter != word.rend(); ++letter) {
    TransformChain<D> link;
    if (*letter == 'T')
      link = make("TranslationTransform", D == 2 ? Values{2.317, -1.731} : Values{2.317, -1.731, 1.419});
    else if (*letter == 'E')
      link = make("EulerTransform",
                  D == 2 ? Values{0.0613, 1.107, -0.719} : Values{0.0411, -0.0323, 0.0607, 1.1, -0.7, 0.9});
    else if (*letter == 'S')
      link = make("SimilarityTransform", D == 2 ? Values{1.0309, -0.0517, 0.61, 1.33}
                                                : Values{0.0213, 0.0331, -0.0257, 0.61, 1.33, -0.83, 1.0309});
    else if (*letter == 'A')
      link = make("AffineTransform", D == 2 ? Values{1.0307, 0.0511, -0.0413, 0.9803, 1.21, -0.63}
                                            : Values{1.0307, 0.0511, -0.0203, -0.0413, 0.9803, 0.0307, 0.0109,
                                                     -0.0211, 1.0203, 1.21, -0.63, 0.51});
    else
      link = make("BSplineTransform", {});
    if (chain.transform)
      link.initial = std::make_shared<TransformChain<D>>(chain);
    chain = link;
  }
  return chain;
}

/// The moving image of a scene lies askew of the fixed one, with other spacings; its noise hides no mistake.
template <int D>
struct ResampleScene {
  ImagePointer<D> fixed, moving;

  explicit ResampleScene(const Size<D>& fixedSize, const Size<D>& movingSize)
  {
    fixed = std::make_shared<Image<D>>(noiseImage<D>(obliqueGeometry<D>(fixedSize), 3));
    ImageGeometry<D> grid = obliqueGeometry<D>(movingSize);
    const double c = std::cos(0.21), s = std::sin(0.21);
    Matrix<D> turn = identityMatrix<D>();
    turn[0][0] = turn[1][1] = c;
    turn[0][1] = -s;
    turn[1][0] = s;
    grid.direction = multiply<D>(turn, grid.direction);
    for (int d = 0; d < D; ++d)
      grid.spacingMm[d] *= 0.93 + 0.11 * d;
    const Vec<D> wanted = fixed->geometry.centerMm(), is = grid.centerMm();
    for (int d = 0; d < D; ++d)
      grid.originMm[d] += wanted[d] - is[d] + 0.137;
    moving = std::make_shared<Image<D>>(noiseImage<D>(grid, 4));
  }
};

/// A resample interpolator by its name in files, prepared for an image.
template <int D>
std::unique_ptr<Interpolator<D>> preparedInterpolator(Context& context, const std::string& name,
                                                      const ImagePointer<D>& image, int splineOrder = 3)
{
  const Parameters parameters =
      parametersOf("(FinalBSplineInterpolationOrder " + std::to_string(splineOrder) + ")\n", D, 1,
                   "ResampleInterpolator0");
  auto interpolator =
      std::move(allComponents().create<ResampleInterpolator<D>>(name, parameters, "test")->interpolator);
  interpolator->prepareForLevel(context, image, 0);
  return interpolator;
}

template <int D>
std::unique_ptr<Resampler<D>> resamplerOf(const std::string& text)
{
  return allComponents().create<Resampler<D>>("DefaultResampler", parametersOf(text, D, 1, "Resampler0"),
                                              "test");
}

}
