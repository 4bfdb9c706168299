#include "Core/Image/Landmarks/Keypoints.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Landmarks/FoerstnerFormula.h"
#include "Core/Image/Landmarks/KeypointsOnCuda.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double leastOfVariance = 1e-5;
constexpr std::size_t voxelsOfRange = std::size_t(1) << 16, rowsOfRange = 32;

/// Derivatives along all axes, per voxel; border values continue beyond the image.
template <int D>
std::array<std::vector<float>, D> gradientOf(const Context& context, const Image<D>& image)
{
  const Size<D>& size = image.geometry.size;
  std::array<std::vector<float>, D> gradient;
  for (auto& axis : gradient)
    axis = largeVector<float>(context, image.voxels.size());
  forEachRange(context, image.voxels.size() / size[0], rowsOfRange, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
      for (std::size_t axis = 0, stride = 1; axis < D; stride *= size[axis], ++axis)
        for (std::size_t x = 0; x < size[0]; ++x) {
          const std::size_t voxel = row * size[0] + x;
          const auto place = static_cast<std::ptrdiff_t>(voxel / stride % size[axis]),
                     most = static_cast<std::ptrdiff_t>(size[axis]) - 1;
          gradient[axis][voxel] = foerstner::derivative([&](int step) {
            const std::ptrdiff_t moved = std::clamp<std::ptrdiff_t>(place + step, 0, most) - place;
            return image.voxels[static_cast<std::size_t>(static_cast<std::ptrdiff_t>(voxel)
                                                         + moved * static_cast<std::ptrdiff_t>(stride))];
          });
        }
  });
  return gradient;
}

template <int D>
std::vector<float> distinctivenessOnCpu(Context& context, const Image<D>& image)
{
  Vec<D> sigmas;
  sigmas.fill(foerstner::sigmaVoxels);
  const auto gradient = gradientOf<D>(context, image);
  std::array<std::vector<float>, D*(D + 1) / 2> a; // xx xy xz yy yz zz, or xx xy yy
  std::size_t entry = 0;
  for (std::size_t i = 0; i < D; ++i)
    for (std::size_t j = i; j < D; ++j, ++entry) {
      Image<D> product{image.geometry, largeVector<float>(context, image.voxels.size())};
      forEachRange(context, product.voxels.size(), voxelsOfRange, [&](std::size_t first, std::size_t last) {
        for (std::size_t v = first; v < last; ++v)
          product.voxels[v] = gradient[i][v] * gradient[j][v];
      });
      a[entry] = smoothRecursively<D>(context, product, sigmas).voxels;
    }
  std::vector<float> result = largeVector<float>(context, image.voxels.size());
  forEachRange(context, result.size(), voxelsOfRange, [&](std::size_t first, std::size_t last) {
    for (std::size_t v = first; v < last; ++v)
      if constexpr (D == 2)
        result[v] = foerstner::distinctiveness(a[0][v], a[1][v], a[2][v]);
      else
        result[v] = foerstner::distinctiveness(a[0][v], a[1][v], a[2][v], a[3][v], a[4][v], a[5][v]);
  });
  return result;
}

Buffer<float> distinctivenessByCuda(Context& context, const ImagePointer<3>& image)
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
  return values;
}

double varianceIn(const Context& context, const std::vector<float>& voxels,
                  std::span<const std::uint8_t> mask)
{
  struct Sums {
    double values = 0, squares = 0, count = 0;
  };
  std::vector<Sums> ofRanges((voxels.size() + voxelsOfRange - 1) / voxelsOfRange);
  forEachRange(context, voxels.size(), voxelsOfRange, [&](std::size_t first, std::size_t last) {
    Sums sums;
    for (std::size_t v = first; v < last; ++v)
      if (mask[v] != 0) {
        sums.values += voxels[v];
        sums.squares += static_cast<double>(voxels[v]) * voxels[v];
        ++sums.count;
      }
    ofRanges[first / voxelsOfRange] = sums;
  });
  Sums all;
  for (const Sums& sums : ofRanges) {
    all.values += sums.values;
    all.squares += sums.squares;
    all.count += sums.count;
  }
  const double mean = all.count == 0 ? 0 : all.values / all.count;
  return all.count == 0 ? 0 : all.squares / all.count - mean * mean;
}

}

template <int D>
FoerstnerKeypoints::FoerstnerKeypoints(Context& context, const ImagePointer<D>& image,
                                       std::span<const std::uint8_t> mask)
    : mask_(mask), least_(static_cast<float>(leastOfVariance * varianceIn(context, image->voxels, mask)))
{
  std::ranges::copy(image->geometry.size, size_.begin());
  if constexpr (D == 3)
    if (context.onCuda()) {
      onCuda_ = distinctivenessByCuda(context, image);
      maskOnCuda_.fromHost(context, mask);
      return;
    }
  distinctiveness_ = distinctivenessOnCpu<D>(context, *image);
}

template FoerstnerKeypoints::FoerstnerKeypoints(Context&, const ImagePointer<2>&,
                                                std::span<const std::uint8_t>);
template FoerstnerKeypoints::FoerstnerKeypoints(Context&, const ImagePointer<3>&,
                                                std::span<const std::uint8_t>);

std::vector<Voxel> FoerstnerKeypoints::largestOnCuda(const Context& context, int radius) const
{
  std::size_t most = 1; // there is at most one in a cube of radius + 1 voxels
  for (const std::size_t length : size_)
    most *= length / static_cast<std::size_t>(radius + 1) + 1;
  Buffer<std::uint32_t> offsets(context, most), count(context, 1);
  context.stream->fill(count.span().data(), 0, sizeof(std::uint32_t));
  largestInCubesOnCuda(context, size_, onCuda_.span().data(), maskOnCuda_.span().data(), least_, radius,
                       offsets.span().data(), count.span().data());
  std::vector<std::uint32_t> found(count.toHost(context).front());
  context.stream->copyToHost(found.data(), offsets.span().data(), found.size() * sizeof(std::uint32_t));
  std::ranges::sort(found);
  std::vector<Voxel> keypoints;
  for (const std::uint32_t offset : found)
    keypoints.push_back({static_cast<int>(offset % size_[0]), static_cast<int>(offset / size_[0] % size_[1]),
                         static_cast<int>(offset / size_[0] / size_[1])});
  return keypoints;
}

std::vector<Voxel> FoerstnerKeypoints::largestOnCpu(const Context& context, int radius) const
{
  const std::size_t rows = size_[1] * size_[2];
  std::vector<std::vector<Voxel>> ofRanges((rows + rowsOfRange - 1) / rowsOfRange);
  forEachRange(context, rows, rowsOfRange, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row)
      for (int x = 0; x < static_cast<int>(size_[0]); ++x) {
        const Voxel voxel{x, static_cast<int>(row % size_[1]), static_cast<int>(row / size_[1])};
        if (foerstner::isKeypoint(size_, voxel, radius, distinctiveness_.data(), mask_.data(), least_))
          ofRanges[first / rowsOfRange].push_back(voxel);
      }
  });
  std::vector<Voxel> keypoints;
  for (const std::vector<Voxel>& range : ofRanges)
    keypoints.insert(keypoints.end(), range.begin(), range.end());
  return keypoints;
}

std::vector<Voxel> FoerstnerKeypoints::inCubes(const Context& context, int cubeVoxels,
                                               std::size_t maxCount) const
{
  const bool onCuda = onCuda_.size() > 0;
  std::vector<Voxel> keypoints =
      onCuda ? largestOnCuda(context, cubeVoxels / 2) : largestOnCpu(context, cubeVoxels / 2);
  for (int radius = cubeVoxels / 2 + 1; keypoints.size() > maxCount; ++radius)
    if (onCuda)
      keypoints = largestOnCuda(context, radius);
    else // the largest of a cube is also that of a smaller one
      std::erase_if(keypoints, [&](const Voxel& voxel) {
        return !foerstner::isKeypoint(size_, voxel, radius, distinctiveness_.data(), mask_.data(), least_);
      });
  return keypoints;
}

}
