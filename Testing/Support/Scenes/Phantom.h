#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Image/Image.h"
#include "Testing/Support/Host.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::testing {

/// A smooth blob: amplitude * exp(-|(x - centerMm) / widthMm|^2 / 2).
template <int D>
struct Blob {
  Vec<D> centerMm{};
  Vec<D> widthMm{};
  double amplitude = 1;

  double operator()(const Vec<D>& pointMm) const
  {
    return amplitude * std::exp(-0.5 * squaredRadius(pointMm, centerMm, widthMm));
  }

  static double squaredRadius(const Vec<D>& pointMm, const Vec<D>& centerMm, const Vec<D>& radiiMm)
  {
    double sum = 0;
    for (int d = 0; d < D; ++d) {
      const double r = (pointMm[d] - centerMm[d]) / radiiMm[d];
      sum += r * r;
    }
    return sum;
  }
};

/// `value` inside an ellipsoid with axes along the coordinates, 0 outside.
template <int D>
struct Ellipsoid {
  Vec<D> centerMm{};
  Vec<D> radiiMm{};
  double value = 1;

  double operator()(const Vec<D>& pointMm) const
  {
    return Blob<D>::squaredRadius(pointMm, centerMm, radiiMm) <= 1 ? value : 0;
  }
};

/// The sum of shapes at a point.
template <class Shape, class Point>
double sumOf(const std::vector<Shape>& shapes, const Point& pointMm)
{
  double sum = 0;
  for (const Shape& shape : shapes)
    sum += shape(pointMm);
  return sum;
}

/// Sizes or spacings: `first` along the first axis, and `step` more along each one after it.
template <int D, class T, class Step = T>
std::array<T, D> perAxis(T first, Step step = 0)
{
  std::array<T, D> values;
  for (int d = 0; d < D; ++d)
    values[d] = first + static_cast<T>(step * d);
  return values;
}

/// Axis-aligned, origin such that the continuous centre is at the coordinates' zero.
template <int D>
ImageGeometry<D> centredGeometry(const Size<D>& size, const Vec<D>& spacingMm)
{
  ImageGeometry<D> geometry{size, spacingMm, {}, identityMatrix<D>()};
  for (int d = 0; d < D; ++d)
    geometry.originMm[d] = -0.5 * (static_cast<double>(size[d]) - 1) * spacingMm[d];
  return geometry;
}

/// Anisotropic, turned in every plane, far from zero: the geometry in which mistakes show.
template <int D>
ImageGeometry<D> obliqueGeometry(const Size<D>& size)
{
  ImageGeometry<D> geometry{size, {}, {}, identityMatrix<D>()};
  double angle = 0.3;
  for (int d = 0; d < D; ++d) {
    geometry.spacingMm[d] = 1.25 + 0.5 * d;
    geometry.originMm[d] = 31.5 - 57.25 * d;
    for (int e = d + 1; e < D; ++e, angle += 0.2) {
      Matrix<D> turn = identityMatrix<D>();
      turn[d][d] = turn[e][e] = std::cos(angle);
      turn[e][d] = std::sin(angle);
      turn[d][e] = -turn[e][d];
      geometry.direction = multiply<D>(geometry.direction, turn);
    }
  }
  return geometry;
}

/// Calls function(index, offset) for every voxel, x fastest.
template <int D, class Function>
void forEachIndex(const Size<D>& size, Function&& function)
{
  Vec<D> index{};
  std::size_t count = 1;
  for (int d = 0; d < D; ++d)
    count *= size[d];
  for (std::size_t offset = 0; offset < count; ++offset) {
    function(index, offset);
    for (int d = 0; d < D; ++d) {
      index[d] += 1;
      if (index[d] < static_cast<double>(size[d]))
        break;
      index[d] = 0;
    }
  }
}

/// Draws intensity(pointMm) at every voxel's centre.
template <int D, class Intensity>
Image<D> drawImage(const ImageGeometry<D>& geometry, Intensity&& intensity)
{
  Image<D> image{geometry, std::vector<float>(geometry.voxelCount())};
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  forEachIndex<D>(geometry.size, [&](const Vec<D>& index, std::size_t offset) {
    image.voxels[offset] = static_cast<float>(intensity(pointFromIndex(index)));
  });
  return image;
}

/// 1 where inside(pointMm) holds at the voxel's centre.
template <int D, class Inside>
Mask<D> drawMask(const ImageGeometry<D>& geometry, Inside&& inside)
{
  std::vector<std::uint8_t> voxels(geometry.voxelCount());
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  forEachIndex<D>(geometry.size, [&](const Vec<D>& index, std::size_t offset) {
    voxels[offset] = inside(pointFromIndex(index)) ? 1 : 0;
  });
  return Mask<D>(geometry, std::move(voxels));
}

/// Adds Gaussian noise; the same numbers for the same seed, everywhere.
template <int D>
void addNoise(Image<D>& image, double standardDeviation, std::uint64_t seed)
{
  Draw draw;
  draw.seed = seed;
  for (std::size_t i = 0; i < image.voxels.size(); ++i) {
    const auto words = randomWords(draw, static_cast<std::uint32_t>(i), 0);
    image.voxels[i] += static_cast<float>(standardDeviation * standardNormals(words[0], words[1])[0]);
  }
}

/// Blobs spread over the inner `share` of the geometry's box, each with another height and with widths of one
/// to three times `width` of the box: no symmetry.
template <int D>
std::vector<Blob<D>> scatteredBlobs(const ImageGeometry<D>& geometry, std::size_t count, std::uint64_t seed,
                                    double share = 0.5, double width = 0.06)
{
  Draw draw;
  draw.seed = seed;
  std::vector<Blob<D>> blobs(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = randomWords(draw, static_cast<std::uint32_t>(i), 0);
    const auto shape = randomWords(draw, static_cast<std::uint32_t>(i), 1);
    Vec<D> index;
    for (int d = 0; d < D; ++d) {
      index[d] = (0.5 + share * (unitUniform(place[d]) - 0.5)) * (static_cast<double>(geometry.size[d]) - 1);
      blobs[i].widthMm[d] = width * (1 + 2 * unitUniform(shape[d])) * static_cast<double>(geometry.size[d])
                            * geometry.spacingMm[d];
    }
    blobs[i].centerMm = geometry.pointFromIndex()(index);
    blobs[i].amplitude = 50 + 150 * unitUniform(shape[3]);
  }
  return blobs;
}

}
