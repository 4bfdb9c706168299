#include "Tools/Landmarks/WorkingImages.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// Calls body(first voxel's number, points of up to a batch of voxels of a row).
template <class Body>
void forEachRow(const Context& context, const ImageGeometry<3>& grid, Body&& body)
{
  const AffineMap<3> pointFromIndex = grid.pointFromIndex();
  forEachChunk(context, grid.size[2], [&](std::size_t z) {
    PointBatch<3> points;
    for (std::size_t y = 0; y < grid.size[1]; ++y)
      for (std::size_t x = 0; x < grid.size[0]; x += batchCapacity) {
        points.count = std::min(batchCapacity, grid.size[0] - x);
        for (std::size_t i = 0; i < points.count; ++i) {
          const Vec<3> mm = pointFromIndex(
              Vec<3>{static_cast<double>(x + i), static_cast<double>(y), static_cast<double>(z)});
          for (std::size_t d = 0; d < 3; ++d)
            points.mm[d][i] = mm[d];
        }
        body(x + grid.size[0] * (y + grid.size[1] * z), points);
      }
  });
}

Vec<3> pointOf(const PointBatch<3>& points, std::size_t i)
{
  return {points.mm[0][i], points.mm[1][i], points.mm[2][i]};
}

}

LoadedSide loadSide(const std::string& option, const std::string& path, const std::string& maskOption,
                    const std::string& maskPath, int threads, RunLog& log)
{
  LoadedSide side;
  withContext(option, [&] {
    if (const int dimension = readImageHeader(path).dimension; dimension != 3)
      throw Error(ExitCode::usage, path + ": an image of dimension " + std::to_string(dimension)
                                       + ": landmarks are found in 3D alone. Allowed: 3D images.");
    std::vector<std::string> notes;
    LoadedImage<3> loaded = readImage<3>(path, notes, threads);
    for (const std::string& note : notes)
      log.info(option + ": " + note);
    side.image = std::make_shared<Image<3>>(std::move(loaded.image));
    side.finite = loaded.finiteVoxels;
    for (const std::size_t length : side.image->geometry.size)
      if (length < 2)
        throw Error(ExitCode::usage, path + ": one voxel along an axis. Allowed: 3D images.");
  });
  if (maskPath.empty())
    return side;
  withContext(maskOption, [&] {
    side.mask = std::make_shared<Mask<3>>(readMask<3>(maskPath, threads));
    const std::vector<std::uint8_t> inside = maskOn(Context{Device{}, threads}, side.image->geometry, side);
    if (std::ranges::count(inside, 1) == 0)
      throw Error(ExitCode::usage,
                  maskPath + ": no voxel of " + path + " lies in this mask. Allowed: a mask of this image.");
  });
  return side;
}

double spacingOf(const ImageGeometry<3>& grid)
{
  return std::cbrt(grid.spacingMm[0] * grid.spacingMm[1] * grid.spacingMm[2]);
}

float linearValue(const Image<3>& image, const Vec<3>& index)
{
  const Size<3>& size = image.geometry.size;
  std::size_t low[3], high[3];
  double share[3];
  for (std::size_t d = 0; d < 3; ++d) {
    const double last = static_cast<double>(size[d] - 1);
    const double place = std::clamp(index[d], 0.0, last);
    low[d] = static_cast<std::size_t>(place);
    high[d] = std::min(low[d] + 1, size[d] - 1);
    share[d] = place - static_cast<double>(low[d]);
  }
  double sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    std::size_t at[3];
    double weight = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const bool isHigh = (corner >> d & 1) != 0;
      at[d] = isHigh ? high[d] : low[d];
      weight *= isHigh ? share[d] : 1 - share[d];
    }
    sum += weight * image.voxels[at[0] + size[0] * (at[1] + size[1] * at[2])];
  }
  return static_cast<float>(sum);
}

ImageGeometry<3> workingGrid(const LoadedSide& fixed, double spacingMm, int marginVoxels)
{
  const ImageGeometry<3>& image = fixed.image->geometry;
  Vec<3> low{}, high{};
  for (std::size_t d = 0; d < 3; ++d)
    high[d] = static_cast<double>(image.size[d] - 1);
  if (fixed.mask) {
    const std::vector<std::uint8_t> inside = maskOn(Context{}, image, fixed);
    std::swap(low, high);
    for (std::size_t v = 0; v < inside.size(); ++v) {
      if (inside[v] == 0)
        continue;
      std::size_t rest = v;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto index = static_cast<double>(rest % image.size[d]);
        rest /= image.size[d];
        low[d] = std::min(low[d], index);
        high[d] = std::max(high[d], index);
      }
    }
  }
  ImageGeometry<3> grid = image;
  for (std::size_t d = 0; d < 3; ++d) {
    const double voxels = (high[d] - low[d]) * image.spacingMm[d] / spacingMm;
    low[d] -= marginVoxels * spacingMm / image.spacingMm[d];
    grid.size[d] =
        static_cast<std::size_t>(std::floor(voxels + 0.5)) + 1 + 2 * static_cast<std::size_t>(marginVoxels);
    grid.spacingMm[d] = spacingMm;
  }
  grid.originMm = image.pointFromIndex()(low);
  return grid;
}

ImagePointer<3> sampledOn(Context& context, const ImageGeometry<3>& grid, const Image<3>& image,
                          const PointMap& map)
{
  Vec<3> sigmaVoxels{};
  for (std::size_t d = 0; d < 3; ++d) { // a voxel has the variance spacing^2 / 12
    const double ratio = grid.spacingMm[d] / image.geometry.spacingMm[d];
    sigmaVoxels[d] = ratio > 1.05 ? std::sqrt((ratio * ratio - 1) / 12) : 0;
  }
  const bool isFiner = sigmaVoxels != Vec<3>{};
  const Image<3> smoothed = isFiner ? smoothRecursively<3>(context, image, sigmaVoxels) : Image<3>{};
  const Image<3>& source = isFiner ? smoothed : image;
  const AffineMap<3> indexFromPoint = image.geometry.indexFromPoint();
  auto result = std::make_shared<Image<3>>(Image<3>{grid, std::vector<float>(grid.voxelCount())});
  forEachRow(context, grid, [&](std::size_t first, PointBatch<3>& points) {
    if (map)
      map(points);
    for (std::size_t i = 0; i < points.count; ++i)
      result->voxels[first + i] = linearValue(source, indexFromPoint(pointOf(points, i)));
  });
  return result;
}

std::vector<std::uint8_t> maskOn(const Context& context, const ImageGeometry<3>& grid, const LoadedSide& side)
{
  std::vector<std::uint8_t> inside(grid.voxelCount());
  const PointToIndex<3> indexOf = side.image->geometry.pointToIndex();
  forEachRow(context, grid, [&](std::size_t first, PointBatch<3>& points) {
    for (std::size_t i = 0; i < points.count; ++i) {
      const Vec<3> pointMm = pointOf(points, i);
      std::size_t voxel;
      inside[first + i] =
          findNearestVoxel<3>(side.image->geometry.size, indexOf(pointMm), voxel) && side.mayUse(pointMm);
    }
  });
  return inside;
}

}
