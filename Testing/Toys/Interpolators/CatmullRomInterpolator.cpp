#include "Testing/Toys/Interpolators/CatmullRomInterpolator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

/// The four voxels along an axis that an index asks for, their weights, and the derivatives of the weights.
struct Taps {
  std::array<std::size_t, 4> voxel;
  std::array<double, 4> weight, slope;

  Taps(double index, std::size_t size)
  {
    const double cell = std::floor(index), t = index - cell;
    for (int k = 0; k < 4; ++k)
      voxel[k] = static_cast<std::size_t>(std::clamp(cell + k - 1, 0.0, static_cast<double>(size) - 1));
    weight = {t * (-0.5 + t * (1 - 0.5 * t)), 1 + t * t * (-2.5 + 1.5 * t), t * (0.5 + t * (2 - 1.5 * t)),
              t * t * (-0.5 + 0.5 * t)};
    slope = {-0.5 + t * (2 - 1.5 * t), t * (-5 + 4.5 * t), 0.5 + t * (4 - 4.5 * t), t * (-1 + 1.5 * t)};
  }
};

/// The value of the rows, planes, ... of an axis and those below it, and its derivatives by the index.
template <int D>
double sumUpTo(int axis, const Image<D>& image, const std::vector<Taps>& taps, std::size_t firstVoxel,
               std::array<double, D>& slopes)
{
  if (axis < 0) {
    slopes.fill(0);
    return image.voxels[firstVoxel];
  }
  std::size_t stride = 1;
  for (int d = 0; d < axis; ++d)
    stride *= image.geometry.size[d];
  double value = 0;
  std::array<double, D> sums{};
  for (int k = 0; k < 4; ++k) {
    std::array<double, D> below;
    const double of = sumUpTo<D>(axis - 1, image, taps, firstVoxel + stride * taps[axis].voxel[k], below);
    value += taps[axis].weight[k] * of;
    for (int d = 0; d < axis; ++d)
      sums[d] += taps[axis].weight[k] * below[d];
    sums[axis] += taps[axis].slope[k] * of;
  }
  slopes = sums;
  return value;
}

}

template <int D>
void CatmullRomInterpolator<D>::evaluate(Context&, const ListSamples<D>& points, float* values,
                                         float* const* gradients, std::uint8_t* inside) const
{
  const PointToIndex<D> pointToIndex = image_->geometry.pointToIndex();
  for (std::size_t i = 0; i < points.count; ++i) {
    Vec<D> pointMm, slopes{};
    for (int d = 0; d < D; ++d)
      pointMm[d] = points.pointMm[d][i];
    const Vec<D> index = pointToIndex(pointMm);
    std::vector<Taps> taps;
    for (int d = 0; d < D; ++d)
      if (index[d] >= -0.5 && index[d] < static_cast<double>(image_->geometry.size[d]) - 0.5)
        taps.emplace_back(index[d], image_->geometry.size[d]);
    inside[i] = taps.size() == D ? 1 : 0;
    values[i] = inside[i] ? static_cast<float>(sumUpTo<D>(D - 1, *image_, taps, 0, slopes)) : 0;
    const Vec<D> gradientPerMm = apply<D>(transpose<D>(pointToIndex.fromOffset), slopes);
    for (int d = 0; gradients && d < D; ++d)
      gradients[d][i] = static_cast<float>(gradientPerMm[d]);
  }
}

template <int D>
const ComponentDescription& CatmullRomInterpolator<D>::description(InterpolatorUse use)
{
  static const ComponentDescription matching{"Interpolator", "CatmullRomInterpolator",
                                             "Cubics through four voxels."};
  static const ComponentDescription resampling{"ResampleInterpolator",
                                               "CatmullRomInterpolator",
                                               matching.summary,
                                               {},
                                               {"FinalCatmullRomInterpolator"}};
  return use == InterpolatorUse::matching ? matching : resampling;
}

template class CatmullRomInterpolator<2>;
template class CatmullRomInterpolator<3>;

}
