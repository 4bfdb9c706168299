#include "Core/Image/Landmarks/Keypoints.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double structureSigmaVoxels = 1.4;
constexpr double leastOfVariance = 1e-5;

/// Derivatives along all axes, per voxel; border values continue beyond the image.
std::array<std::vector<float>, 3> gradientOf(const Context& context, const Image<3>& image)
{
  const Size<3>& size = image.geometry.size;
  std::array<std::vector<float>, 3> gradient;
  for (auto& axis : gradient)
    axis.resize(image.voxels.size());
  forEachChunk(context, size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const Voxel voxel{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const auto at = [&](int step) {
            Voxel other = voxel;
            other[axis] = std::clamp(voxel[axis] + step, 0, static_cast<int>(size[axis]) - 1);
            return image.voxels[offsetOf(size, other)];
          };
          gradient[axis][offsetOf(size, voxel)] = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / 12;
        }
      }
  });
  return gradient;
}

std::vector<float> distinctiveness(Context& context, const Image<3>& image)
{
  const auto gradient = gradientOf(context, image);
  std::array<std::vector<float>, 6> a; // xx xy xz yy yz zz
  std::size_t entry = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = i; j < 3; ++j, ++entry) {
      Image<3> product{image.geometry, std::vector<float>(image.voxels.size())};
      for (std::size_t v = 0; v < product.voxels.size(); ++v)
        product.voxels[v] = gradient[i][v] * gradient[j][v];
      a[entry] = smoothRecursively<3>(context, product,
                                      {structureSigmaVoxels, structureSigmaVoxels, structureSigmaVoxels})
                     .voxels;
    }
  std::vector<float> result(image.voxels.size());
  forEachRange(context, result.size(), std::size_t(1) << 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v) {
      const double xx = a[0][v], xy = a[1][v], xz = a[2][v], yy = a[3][v], yz = a[4][v], zz = a[5][v];
      const double minors[] = {yy * zz - yz * yz, xx * zz - xz * xz, xx * yy - xy * xy};
      const double determinant = xx * minors[0] - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
      const double sum = minors[0] + minors[1] + minors[2];
      result[v] = sum > 0 && determinant > 0 ? static_cast<float>(determinant / sum) : 0.0f;
    }
  });
  return result;
}

double varianceIn(const Image<3>& image, std::span<const std::uint8_t> mask)
{
  double sum = 0, squares = 0, count = 0;
  for (std::size_t v = 0; v < mask.size(); ++v)
    if (mask[v] != 0) {
      sum += image.voxels[v];
      squares += static_cast<double>(image.voxels[v]) * image.voxels[v];
      ++count;
    }
  return count == 0 ? 0 : squares / count - sum / count * (sum / count);
}

/// Whether all voxels of the cube about `voxel` that lie in the image satisfy the condition.
template <class Condition>
bool holdsInCube(const Size<3>& size, const Voxel& voxel, int radius, Condition&& condition)
{
  Voxel low, high;
  for (std::size_t d = 0; d < 3; ++d) {
    low[d] = std::max(0, voxel[d] - radius);
    high[d] = std::min(static_cast<int>(size[d]) - 1, voxel[d] + radius);
  }
  for (int z = low[2]; z <= high[2]; ++z)
    for (int y = low[1]; y <= high[1]; ++y)
      for (int x = low[0]; x <= high[0]; ++x)
        if (!condition(offsetOf(size, {x, y, z})))
          return false;
  return true;
}

}

std::vector<Voxel> foerstnerKeypoints(Context& context, const Image<3>& image,
                                      std::span<const std::uint8_t> mask, int cubeVoxels)
{
  const Size<3>& size = image.geometry.size;
  const std::vector<float> values = distinctiveness(context, image);
  const auto least = static_cast<float>(leastOfVariance * varianceIn(image, mask));
  std::vector<std::vector<Voxel>> slices(size[2]);
  forEachChunk(context, size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const Voxel voxel{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        const std::size_t here = offsetOf(size, voxel);
        const bool isKeypoint =
            mask[here] != 0 && values[here] > least
            && holdsInCube(size, voxel, 1, [&](std::size_t v) { return mask[v] != 0; })
            && holdsInCube(size, voxel, cubeVoxels / 2, [&](std::size_t v) {
                 return values[v] < values[here] || (values[v] == values[here] && v >= here);
               });
        if (isKeypoint)
          slices[z].push_back(voxel);
      }
  });
  std::vector<Voxel> keypoints;
  for (const std::vector<Voxel>& slice : slices)
    keypoints.insert(keypoints.end(), slice.begin(), slice.end());
  return keypoints;
}

}
