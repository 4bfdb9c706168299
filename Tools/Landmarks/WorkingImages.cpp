#include "Tools/Landmarks/WorkingImages.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Registration/Samples/Samples.h"
#include "Core/Runs/HeaderNotes.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// Calls body(first voxel's number, points of up to a batch of voxels of a row).
template <int D, class Body>
void forEachRow(const Context& context, const ImageGeometry<D>& grid, Body&& body)
{
  const AffineMap<D> pointFromIndex = grid.pointFromIndex();
  const std::size_t width = grid.size[0], rows = grid.voxelCount() / width;
  forEachRange(context, rows, 32, [&](std::size_t firstRow, std::size_t lastRow) {
    PointBatch<D> points;
    for (std::size_t row = firstRow; row < lastRow; ++row) {
      Vec<D> index = indexOfVoxel<D>(grid.size, row * width);
      for (std::size_t x = 0; x < width; x += batchCapacity) {
        points.count = std::min(batchCapacity, width - x);
        for (std::size_t i = 0; i < points.count; ++i) {
          index[0] = static_cast<double>(x + i);
          points.set(i, pointFromIndex(index));
        }
        body(x + width * row, points);
      }
    }
  });
}

/// 1 where the voxels of the grid may be used.
template <int D>
std::vector<std::uint8_t> maskOn(const Context& context, const ImageGeometry<D>& grid,
                                 const LoadedSide<D>& side)
{
  std::vector<std::uint8_t> inside(grid.voxelCount());
  const PointToIndex<D> indexOf = side.image->geometry.pointToIndex();
  forEachRow<D>(context, grid, [&](std::size_t first, PointBatch<D>& points) {
    for (std::size_t i = 0; i < points.count; ++i) {
      const Vec<D> pointMm = points.point(i);
      std::size_t voxel;
      inside[first + i] =
          findNearestVoxel<D>(side.image->geometry.size, indexOf(pointMm), voxel) && side.mayUse(pointMm);
    }
  });
  return inside;
}

}

template <int D>
LoadedSide<D> loadSide(const std::string& option, const std::string& path, const std::string& maskOption,
                       const std::string& maskPath, const ReadingOptions& reading, int threads, Log& log)
{
  LoadedSide<D> side;
  const int dimension = readHeaderAndTell(option, path, reading, log).dimension;
  withContext(option, [&] {
    if (dimension != D)
      failAs(ExitCode::usage, path, "an image of dimension " + std::to_string(dimension),
             "one of dimension " + std::to_string(D) + ", as -f is");
    std::vector<std::string> notes;
    LoadedImage<D> loaded = readImage<D>(path, reading, notes, threads);
    for (const std::string& note : notes)
      log.note(option + ": " + note);
    side.image = std::make_shared<Image<D>>(std::move(loaded.image));
    side.finite = loaded.finiteVoxels;
    for (const std::size_t length : side.image->geometry.size)
      if (length < 2)
        failAs(ExitCode::usage, path, "one voxel along an axis", "at least two along each");
    for (std::size_t d = 0; d < D; ++d)
      side.lastVoxel[d] = static_cast<double>(side.image->geometry.size[d] - 1);
  });
  if (maskPath.empty())
    return side;
  readHeaderAndTell(maskOption, maskPath, reading, log);
  withContext(maskOption, [&] {
    std::vector<std::string> notes;
    side.mask = std::make_shared<Mask<D>>(readMask<D>(maskPath, reading, threads, &notes));
    for (const std::string& note : notes)
      log.note(maskOption + ": " + note);
    const ImageGeometry<D>& grid = side.image->geometry;
    const Mask<D> inside{grid, maskOn<D>(Context{Device{}, threads}, grid, side)};
    if (std::ranges::count(inside.voxels, 1) == 0)
      failAs(ExitCode::usage, maskPath, "no voxel of " + path + " lies in this mask", "a mask of this image");
    const VoxelBox<D> box = boundingBox<D>(inside);
    for (std::size_t d = 0; d < D; ++d) {
      side.firstVoxel[d] = static_cast<double>(box.first[d]);
      side.lastVoxel[d] = static_cast<double>(box.first[d] + box.size[d] - 1);
    }
  });
  return side;
}

template <int D>
double spacingOf(const ImageGeometry<D>& grid)
{
  return std::pow(productOf(grid.spacingMm), 1.0 / D);
}

template <int D>
LinearPlaces<D>::LinearPlaces(const ImageGeometry<D>& grid, const AffineMap<D>& indexFromPoint,
                              const PointBatch<D>& points)
    : count_(points.count)
{
  for (std::size_t d = 0, stride = 1; d < D; stride *= grid.size[d], ++d) {
    const double last = static_cast<double>(grid.size[d] - 1);
    for (std::size_t i = 0; i < count_; ++i) {
      double index = indexFromPoint.offset[d];
      for (std::size_t axis = 0; axis < D; ++axis)
        index += indexFromPoint.matrix[d][axis] * points.mm[axis][i];
      index = index > 0 ? index < last ? index : last : 0; // NaN becomes 0
      const auto low = static_cast<std::uint32_t>(index);
      offset_[i] += stride * low;
      step_[d][i] = low + 1 < grid.size[d] ? stride : 0;
      share_[d][i] = static_cast<float>(index - low);
    }
  }
}

template <int D>
void LinearPlaces<D>::values(const float* voxels, float* out, std::size_t stride) const
{
  for (std::size_t i = 0; i < count_; ++i) {
    float corner[1 << D];
    for (std::size_t c = 0; c < 1u << D; ++c) {
      std::size_t at = offset_[i];
      for (std::size_t d = 0; d < D; ++d)
        at += (c >> d & 1) != 0 ? step_[d][i] : 0;
      corner[c] = voxels[stride * at];
    }
    for (std::size_t d = 0, left = 1u << (D - 1); d < D; left /= 2, ++d)
      for (std::size_t c = 0; c < left; ++c)
        corner[c] = corner[2 * c] + share_[d][i] * (corner[2 * c + 1] - corner[2 * c]);
    out[i] = corner[0];
  }
}

template <int D>
ImageGeometry<D> workingGrid(const LoadedSide<D>& fixed, double spacingMm, int marginVoxels)
{
  const ImageGeometry<D>& image = fixed.image->geometry;
  Vec<D> low = fixed.firstVoxel;
  ImageGeometry<D> grid = image;
  for (std::size_t d = 0; d < D; ++d) {
    const double voxels = (fixed.lastVoxel[d] - low[d]) * image.spacingMm[d] / spacingMm;
    low[d] -= marginVoxels * spacingMm / image.spacingMm[d];
    grid.size[d] =
        static_cast<std::size_t>(std::floor(voxels + 0.5)) + 1 + 2 * static_cast<std::size_t>(marginVoxels);
    grid.spacingMm[d] = spacingMm;
  }
  grid.originMm = image.pointFromIndex()(low);
  return grid;
}

template <int D>
ImagePointer<D> smoothedFor(Context& context, const ImageGeometry<D>& grid, const ImagePointer<D>& image)
{
  Vec<D> sigmaVoxels{};
  for (std::size_t d = 0; d < D; ++d) { // a voxel has the variance spacing^2 / 12
    const double ratio = grid.spacingMm[d] / image->geometry.spacingMm[d];
    sigmaVoxels[d] = ratio > 1.05 ? std::sqrt((ratio * ratio - 1) / 12) : 0;
  }
  return sigmaVoxels == Vec<D>{}
             ? image
             : std::make_shared<Image<D>>(smoothRecursively<D>(context, *image, sigmaVoxels));
}

template <int D>
ImagePointer<D> sampledOn(const Context& context, const ImageGeometry<D>& grid, const Image<D>& image,
                          const PointMap<D>& map)
{
  const AffineMap<D> indexFromPoint = image.geometry.indexFromPoint();
  auto result = std::make_shared<Image<D>>(Image<D>{grid, largeVector<float>(context, grid.voxelCount())});
  forEachRow<D>(context, grid, [&](std::size_t first, PointBatch<D>& points) {
    if (map)
      map(points);
    LinearPlaces<D>(image.geometry, indexFromPoint, points)
        .values(image.voxels.data(), &result->voxels[first]);
  });
  return result;
}

template <int D>
WorkingImage<D>::WorkingImage(Context& context, const LoadedSide<D>& fixed, double spacingMm,
                              int marginVoxels)
{
  const ImageGeometry<D> grid = workingGrid(fixed, spacingMm, marginVoxels);
  image = sampledOn<D>(context, grid, *smoothedFor(context, grid, fixed.image), {});
  mask = maskOn(context, grid, fixed);
}

TESSERA_INSTANTIATE_CLASS(LinearPlaces);
TESSERA_INSTANTIATE_CLASS(WorkingImage);
TESSERA_INSTANTIATE_FUNCTIONS(loadSide<D>, spacingOf<D>, workingGrid<D>, smoothedFor<D>, sampledOn<D>);

}
