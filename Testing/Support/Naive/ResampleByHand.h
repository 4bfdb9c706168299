#pragma once

#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Resamplers/DefaultResampler.h"
#include "Components/Transforms/AffineTransform.h"
#include "Testing/Support/Naive/ResampledImages.h"
#include "Testing/Support/ParameterText.h"

#include <cmath>

namespace tessera::testing {

inline std::string numbers(const std::vector<double>& values)
{
  std::string text;
  for (double value : values)
    text += " " + std::to_string(value);
  return text;
}

/// T(x) = matrix x + offset as a chain of one affine transform; entries with six decimals are exact.
template <int D>
TransformChain<D> affineChain(const Matrix<D>& matrix, const Vec<D>& offset)
{
  std::vector<double> values;
  for (const auto& row : matrix)
    values.insert(values.end(), row.begin(), row.end());
  values.insert(values.end(), offset.begin(), offset.end());
  const Parameters file =
      parametersOf("(Transform \"AffineTransform\")\n(NumberOfParameters " + std::to_string(values.size())
                       + ")\n(TransformParameters" + numbers(values) + ")\n(CenterOfRotationPoint"
                       + numbers(std::vector<double>(D, 0.0)) + ")\n",
                   D);
  const auto transform = std::make_shared<AffineTransform<D>>(file);
  return {.transform = transform, .parameters = transform->restore({}, file)};
}

inline ImageGeometry<3> obliqueGrid()
{
  const double c = std::cos(0.3), s = std::sin(0.3);
  return {{17, 19, 23}, {0.7, 1.1, 2.3}, {-40, 25, 7}, {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}}};
}

/// A plane through space: linear interpolation gives it exactly, but for float.
inline float planeAt(const Vec<3>& mm)
{
  return static_cast<float>(3 + 0.5 * mm[0] - 0.25 * mm[1] + 2 * mm[2]);
}

template <int D, class Value>
ImagePointer<D> imageOf(const ImageGeometry<D>& grid, Value value)
{
  auto image = std::make_shared<Image<D>>(Image<D>{grid, {}});
  for (std::size_t v = 0; v < grid.voxelCount(); ++v)
    image->voxels.push_back(value(grid.pointFromIndex()(indexOfVoxel<D>(grid.size, v))));
  return image;
}

template <int D>
Image<D> resampled(const std::string& text, const TransformChain<D>& chain, const ImagePointer<D>& moving,
                   const ImageGeometry<D>& output, int threads = 1, const MaskPointer<D>& valid = nullptr)
{
  Context context{{}, threads};
  LinearInterpolator<D> interpolator(parametersOf(text, D), InterpolatorUse::resampling);
  interpolator.prepareForLevel(context, moving, 0);
  return resampledImage<D>(DefaultResampler<D>(parametersOf(text, D)), context, chain, {&interpolator, valid},
                           output);
}

}
