#include "Core/Image/Landmarks/Keypoints.h"

#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Landmarks/FoerstnerFormula.h"
#include "Core/Image/Landmarks/KeypointsOnCuda.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr Vec<3> sigmas{foerstner::sigmaVoxels, foerstner::sigmaVoxels, foerstner::sigmaVoxels};
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
          gradient[axis][offsetOf(size, voxel)] = foerstner::derivative(at);
        }
      }
  });
  return gradient;
}

std::vector<float> distinctivenessOnCpu(Context& context, const Image<3>& image)
{
  const auto gradient = gradientOf(context, image);
  std::array<std::vector<float>, 6> a; // xx xy xz yy yz zz
  std::size_t entry = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = i; j < 3; ++j, ++entry) {
      Image<3> product{image.geometry, std::vector<float>(image.voxels.size())};
      for (std::size_t v = 0; v < product.voxels.size(); ++v)
        product.voxels[v] = gradient[i][v] * gradient[j][v];
      a[entry] = smoothRecursively<3>(context, product, sigmas).voxels;
    }
  std::vector<float> result(image.voxels.size());
  forEachRange(context, result.size(), std::size_t(1) << 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v)
      result[v] = foerstner::distinctiveness(a[0][v], a[1][v], a[2][v], a[3][v], a[4][v], a[5][v]);
  });
  return result;
}

std::vector<float> distinctivenessByCuda(Context& context, const ImagePointer<3>& image)
{
  const Size<3>& size = image->geometry.size;
  const std::size_t voxels = image->geometry.voxelCount();
  const auto onCuda = voxelsOnCuda<3>(context, image);
  std::array<Buffer<float>, 6> smoothed;
  const float* products[6];
  std::size_t entry = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j, ++entry) {
      auto product = std::make_shared<Buffer<float>>(context, voxels);
      gradientProductsOnCuda(context, size, onCuda->span().data(), i, j, product->span().data());
      VolumeOnCuda<3> volume(context, size, std::move(product));
      for (int axis = 2; axis >= 0; --axis)
        volume.filter(axis, foerstner::sigmaVoxels, {{1.0}, 0, 1, size[static_cast<std::size_t>(axis)]});
      smoothed[entry] = volume.releaseVoxels();
      products[entry] = smoothed[entry].span().data();
    }
  Buffer<float> values(context, voxels);
  distinctivenessOnCuda(context, voxels, products, values.span().data());
  std::vector<float> result = largeVector<float>(context, voxels);
  copyLargeToHost(context, result.data(), values.span().data(), voxels * sizeof(float));
  return result;
}

double varianceIn(const Context& context, const Image<3>& image, std::span<const std::uint8_t> mask)
{
  struct Sums {
    double values = 0, squares = 0, count = 0;
  };
  const std::size_t slices = image.geometry.size[2], perSlice = mask.size() / slices;
  std::vector<Sums> ofSlices(slices);
  forEachChunk(context, slices, [&](std::size_t z) {
    for (std::size_t v = z * perSlice; v < (z + 1) * perSlice; ++v)
      if (mask[v] != 0) {
        ofSlices[z].values += image.voxels[v];
        ofSlices[z].squares += static_cast<double>(image.voxels[v]) * image.voxels[v];
        ++ofSlices[z].count;
      }
  });
  Sums all;
  for (const Sums& slice : ofSlices) {
    all.values += slice.values;
    all.squares += slice.squares;
    all.count += slice.count;
  }
  const double mean = all.count == 0 ? 0 : all.values / all.count;
  return all.count == 0 ? 0 : all.squares / all.count - mean * mean;
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

FoerstnerKeypoints::FoerstnerKeypoints(Context& context, const ImagePointer<3>& image,
                                       std::span<const std::uint8_t> mask)
    : size_(image->geometry.size), mask_(mask),
      distinctiveness_(context.onCuda() ? distinctivenessByCuda(context, image)
                                        : distinctivenessOnCpu(context, *image)),
      least_(static_cast<float>(leastOfVariance * varianceIn(context, *image, mask)))
{
}

std::vector<Voxel> FoerstnerKeypoints::inCubes(const Context& context, int cubeVoxels) const
{
  const Size<3>& size = size_;
  const std::vector<float>& values = distinctiveness_;
  std::vector<std::vector<Voxel>> slices(size[2]);
  forEachChunk(context, size[2], [&](std::size_t z) {
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const Voxel voxel{static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)};
        const std::size_t here = offsetOf(size, voxel);
        const bool isKeypoint =
            mask_[here] != 0 && values[here] > least_
            && holdsInCube(size, voxel, 1, [&](std::size_t v) { return mask_[v] != 0; })
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
