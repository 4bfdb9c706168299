#pragma once

#include "Core/Registration/Interpolator.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <array>
#include <memory>
#include <random>
#include <vector>

namespace tessera::testing {

/// The answers of an interpolator at some points of an image.
template <int D>
struct Interpolated {
  std::vector<Vec<D>> index; // continuous, as asked
  std::array<std::vector<double>, D> mm;
  std::vector<float> values, valuesAlone; // with and without gradients asked
  std::array<std::vector<float>, D> gradients;
  std::vector<std::uint8_t> inside;

  Vec<D> pointMm(std::size_t i) const
  {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = mm[d][i];
    return point;
  }
};

/// Continuous indices all over an image and up to 0.7 voxels beyond its borders; every fourth coordinate is a
/// whole index.
template <int D>
std::vector<Vec<D>> scatteredIndices(const Size<D>& size, std::size_t count, unsigned seed)
{
  std::mt19937 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 1) * 0x1p-31; };
  std::vector<Vec<D>> indices(count);
  for (Vec<D>& index : indices)
    for (int d = 0; d < D; ++d) {
      const double n = static_cast<double>(size[d]);
      index[d] = random() % 4 == 0 ? std::floor(uniform() * n) : -0.7 + uniform() * (n + 0.4);
    }
  return indices;
}

/// Asks batch by batch, as a cost term does.
template <int D>
Interpolated<D> interpolate(const Interpolator<D>& interpolator, const ImageGeometry<D>& geometry,
                            const std::vector<Vec<D>>& indices)
{
  Interpolated<D> result;
  const std::size_t count = indices.size();
  result.index = indices;
  result.values.resize(count);
  result.valuesAlone.resize(count);
  result.inside.resize(count);
  for (int d = 0; d < D; ++d) {
    result.mm[d].resize(count);
    result.gradients[d].resize(count);
  }
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  for (std::size_t i = 0; i < count; ++i) {
    const Vec<D> point = pointFromIndex(indices[i]);
    for (int d = 0; d < D; ++d)
      result.mm[d][i] = point[d];
  }
  for (std::size_t first = 0; first < count; first += batchCapacity) {
    ListSamples<D> points;
    std::array<float*, D> gradients;
    points.count = std::min(batchCapacity, count - first);
    for (int d = 0; d < D; ++d) {
      points.pointMm[d] = result.mm[d].data() + first;
      gradients[d] = result.gradients[d].data() + first;
    }
    interpolator.evaluate(host, points, result.valuesAlone.data() + first, nullptr,
                          result.inside.data() + first);
    if (interpolator.hasGradient())
      interpolator.evaluate(host, points, result.values.data() + first, gradients.data(),
                            result.inside.data() + first);
  }
  return result;
}

/// A prepared interpolator answers this image.
template <int D>
Interpolated<D> interpolate(Interpolator<D>& interpolator, const Image<D>& image,
                            const std::vector<Vec<D>>& indices)
{
  interpolator.prepareForLevel(host, std::make_shared<Image<D>>(image), 0);
  return interpolate<D>(static_cast<const Interpolator<D>&>(interpolator), image.geometry, indices);
}

}
