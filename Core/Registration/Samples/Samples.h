#pragma once

#include "Core/Compute/Math/Bounds.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"

#include <array>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace tessera {

// Batches are planar: one array a coordinate. On the CPU a batch has at most `batchCapacity` samples, so that
// it stays in the cache.
constexpr std::size_t batchCapacity = 512;

/// Pointers to number `at` of each of D vectors.
template <int D, class Vectors>
auto pointersTo(Vectors& vectors, std::size_t at = 0)
{
  std::array<decltype(vectors[0].data()), D> pointers;
  for (int d = 0; d < D; ++d)
    pointers[d] = vectors[d].data() + at;
  return pointers;
}

/// Pointers to the numbers of each axis in one array, which has `count` numbers for each axis in turn.
template <int D, class T>
std::array<T*, D> planesOf(T* values, std::size_t count)
{
  std::array<T*, D> pointers;
  for (int d = 0; d < D; ++d)
    pointers[d] = values + d * count;
  return pointers;
}

/// Points in mm, one array for each coordinate.
template <int D>
struct ListSamples {
  /// A point whose coordinates are read from the arrays when they are needed.
  struct Place {
    const ListSamples& samples;
    std::size_t i;
    TESSERA_ALWAYS_INLINE double operator[](int d) const { return samples.pointMm[d][i]; }
  };

  std::array<const double*, D> pointMm{};
  std::size_t count = 0;

  TESSERA_ALWAYS_INLINE Place at(std::size_t i) const { return {*this, i}; }

  Vec<D> point(std::size_t i) const
  {
    Vec<D> mm;
    for (int d = 0; d < D; ++d)
      mm[d] = pointMm[d][i];
    return mm;
  }
};

/// Output arrays of `count` values, one an axis: mapped points or pushed-forward vectors, in mm.
template <int D>
using PointsOut = std::array<double*, D>;

/// Input arrays of `count` values, one an axis: d value / d mapped point.
template <int D>
using Covectors = std::array<const double*, D>;

/// Points of the fixed image and their partners in the moving image. There are no partners if only fixed
/// points were given. A pair counts by its weight, which is above 0; the mean of the
/// weights is 1. No weights: all count alike.
template <int D>
struct PointPairs {
  std::vector<Vec<D>> fixedMm, movingMm;
  std::vector<double> weights = {};        // none: all are equal
  std::vector<Matrix<D>> covariances = {}; // of their errors; none: errors have no direction
};

/// Arrays that hold the points of one batch.
template <int D>
struct PointBatch {
  std::array<std::vector<double>, D> mm;
  std::size_t count = 0;

  PointBatch()
  {
    for (auto& axis : mm)
      axis.resize(batchCapacity);
  }
  ListSamples<D> list() const { return {pointersTo<D>(mm), count}; }
  PointsOut<D> out() { return pointersTo<D>(mm); }
  Vec<D> point(std::size_t i) const { return list().point(i); }
  void set(std::size_t i, const Vec<D>& pointMm)
  {
    for (int d = 0; d < D; ++d)
      mm[d][i] = pointMm[d];
  }
};

/// The samples of a level as a lattice: voxels of the level's fixed image at regular steps, where the mask
/// allows them.
template <int D>
struct VoxelLattice {
  ImagePointer<D> image;
  MaskPointer<D> mask; // null: every voxel is a sample
  Size<D> first{}, step{}, count{};

  std::size_t positions() const { return productOf(count); }
  bool operator==(const VoxelLattice&) const = default;
};

/// Points on a CUDA device, with the fixed image's intensities there.
template <int D>
struct PointsOnCuda {
  std::array<Buffer<double>, D> mm;
  Buffer<float> fixed;
};

/// A list of points, with the fixed image's intensities there. A sampler that runs on CUDA fills only
/// `onCuda`.
template <int D>
struct PointList {
  std::array<std::vector<double>, D> mm;
  std::vector<float> fixed;
  std::shared_ptr<const PointsOnCuda<D>> onCuda;

  std::size_t positions() const { return onCuda ? onCuda->fixed.size() : fixed.size(); }
};

template <int D>
using SampleSet = std::variant<VoxelLattice<D>, PointList<D>>;

/// The number of positions of the set, also counting those that a mask leaves out.
template <int D>
std::size_t positionCount(const SampleSet<D>& set)
{
  return std::visit([](const auto& s) { return s.positions(); }, set);
}

/// Writes the samples among positions [first, last) of a set (last - first <= batchCapacity): their points
/// and, unless null, fixed intensities (room for batchCapacity). Positions outside the mask are left out.
template <int D>
void fillBatch(const SampleSet<D>& set, std::size_t first, std::size_t last, PointBatch<D>& points,
               float* fixed);

/// All samples of a set as one list of points, in position order (for statistics over a few thousand
/// samples).
template <int D>
PointList<D> allSamples(const SampleSet<D>& set);

/// Writes the points of the voxels [first, first + count) of a lattice (x fastest, count <= batchCapacity) to
/// `points`.
template <int D>
void fillVoxelPoints(const Size<D>& size, const AffineMap<D>& pointFromIndex, std::size_t first,
                     std::size_t count, PointBatch<D>& points);

/// A box of voxels.
template <int D>
struct VoxelBox {
  Size<D> first{}, size{};
};

/// The continuous indices of the outer sides of its voxels.
template <int D>
Bounds<D> sidesOf(const VoxelBox<D>& box)
{
  Bounds<D> sides;
  for (int d = 0; d < D; ++d) {
    sides.low[d] = static_cast<double>(box.first[d]) - 0.5;
    sides.high[d] = static_cast<double>(box.first[d] + box.size[d]) - 0.5;
  }
  return sides;
}

/// The smallest box, on the mask's own grid, that holds all its voxels. Throws Error(unreadableInput) for an
/// empty mask.
template <int D>
VoxelBox<D> boundingBox(const Mask<D>& mask);

template <int D>
VoxelBox<D> wholeBox(const ImageGeometry<D>& geometry)
{
  return {{}, geometry.size};
}

/// The voxels of a level's image that samplers may take: those between the centres of the full image's first
/// and last voxels. elastix finds them through physical space, where rounding leaves out border slices of
/// most oblique images. This function does the same operations in the same order (dox/Decisions/0009).
template <int D>
VoxelBox<D> regionOfLevel(const ImageGeometry<D>& full, const ImageGeometry<D>& level);

/// The smallest box that holds every voxel whose value differs from that of the first one. Without one, and
/// for an image without voxels, the whole image.
template <int D>
VoxelBox<D> contentBox(const Image<D>& image);

/// The voxels of `region` that can lie in a box of voxels of the grid `boxed`, or at most `marginVoxels` of
/// `geometry` beside it. Throws Error(unreadableInput) if there are none.
template <int D>
VoxelBox<D> boxInBox(const ImageGeometry<D>& geometry, const VoxelBox<D>& region,
                     const ImageGeometry<D>& boxed, const VoxelBox<D>& box, double marginVoxels);

/// The voxels of `region` that can lie inside a mask: elastix's crop to the mask's bounding box (with half a
/// voxel of margin in physical space, rounded outwards). A null mask keeps the whole region. Throws
/// Error(unreadableInput) if the mask is empty or does not overlap the region.
template <int D>
VoxelBox<D> boxInMask(const ImageGeometry<D>& geometry, const VoxelBox<D>& region, const Mask<D>* mask);

template <int D>
VoxelBox<D> boxInMask(const ImageGeometry<D>& geometry, const Mask<D>* mask)
{
  return boxInMask<D>(geometry, wholeBox<D>(geometry), mask);
}

/// elastix's ImageGridSampler: every `step`-th voxel of the mask's box in the region. The grid is centred in
/// the box, with its offset rounded down.
template <int D>
VoxelLattice<D> gridOfStep(const Size<D>& step, const ImagePointer<D>& image, const VoxelBox<D>& region,
                           const MaskPointer<D>& mask);

/// elastix's ImageGridSampler for a wanted number of samples (at least 1). The step is max(1, round((voxels /
/// wanted)^(1/D))) voxels along every axis. The region is first cropped to the mask's bounding box; the grid
/// is centred in it, with its offset rounded down.
template <int D>
VoxelLattice<D> gridOfAbout(std::size_t wanted, const ImagePointer<D>& image, const VoxelBox<D>& region,
                            const MaskPointer<D>& mask);

template <int D>
VoxelLattice<D> gridOfAbout(std::size_t wanted, const ImagePointer<D>& image, const MaskPointer<D>& mask)
{
  return gridOfAbout<D>(wanted, image, wholeBox<D>(image->geometry), mask);
}

}
