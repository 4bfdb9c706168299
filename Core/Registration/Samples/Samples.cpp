#include "Core/Registration/Samples/Samples.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace tessera {
namespace {

/// out[i] = base + slope * (first + step * i) + plus[0] + plus[1] + plus[2], in this order
TESSERA_MULTIVERSION_TO_V4 void fillLine(double base, double slope, double first, double step,
                                         const double (&plus)[3], std::size_t count, double* out)
{
  for (std::size_t i = 0; i < count; ++i)
    out[i] = base + slope * (first + step * static_cast<double>(i)) + plus[0] + plus[1] + plus[2];
}

/// Consecutive positions within one row of a lattice: `count` positions from `index` along the first axis.
template <int D>
struct RowSegment {
  Size<D> index{};
  std::size_t step = 1, count = 0;
};

/// Calls visit(segment) for the row segments that hold positions [first, last), in order.
template <int D, class Visit>
void forEachSegment(const VoxelLattice<D>& lattice, std::size_t first, std::size_t last, Visit&& visit)
{
  while (first < last) {
    std::size_t rest = first / lattice.count[0];
    const std::size_t along = first % lattice.count[0];
    RowSegment<D> segment;
    segment.index[0] = lattice.first[0] + lattice.step[0] * along;
    for (int d = 1; d < D; ++d) {
      segment.index[d] = lattice.first[d] + lattice.step[d] * (rest % lattice.count[d]);
      rest /= lattice.count[d];
    }
    segment.step = lattice.step[0];
    segment.count = std::min(lattice.count[0] - along, last - first);
    visit(segment);
    first += segment.count;
  }
}

template <int D>
std::size_t voxelOffset(const Size<D>& size, const Size<D>& index)
{
  std::size_t offset = index[D - 1];
  for (int d = D - 2; d >= 0; --d)
    offset = offset * size[d] + index[d];
  return offset;
}

template <int D>
void writeSegment(const AffineMap<D>& pointFromIndex, const RowSegment<D>& segment, const PointsOut<D>& out)
{
  for (int axis = 0; axis < D; ++axis) {
    double plus[3] = {}; // added one by one, as ITK does: see ImageGeometry::indexFromOffset
    for (int d = 1; d < D; ++d)
      plus[d - 1] = pointFromIndex.matrix[axis][d] * static_cast<double>(segment.index[d]);
    fillLine(pointFromIndex.offset[axis], pointFromIndex.matrix[axis][0],
             static_cast<double>(segment.index[0]), static_cast<double>(segment.step), plus, segment.count,
             out[axis]);
  }
}

/// Moves those of the `count` points from `first` on that lie inside the mask to the front; returns how many.
template <int D, class IsInside>
std::size_t keepInside(const PointsOut<D>& points, float* fixed, std::size_t count, IsInside&& isInside)
{
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!isInside(i))
      continue;
    for (int d = 0; d < D; ++d)
      points[d][kept] = points[d][i];
    if (fixed)
      fixed[kept] = fixed[i];
    ++kept;
  }
  return kept;
}

template <int D>
std::size_t keepInMask(const Mask<D>& mask, const ImageGeometry<D>& image, const RowSegment<D>& segment,
                       const PointsOut<D>& points, float* fixed)
{
  if (mask.geometry == image) {
    const std::uint8_t* row = mask.voxels.data() + voxelOffset<D>(image.size, segment.index);
    return keepInside<D>(points, fixed, segment.count,
                         [&](std::size_t i) { return row[i * segment.step] != 0; });
  }
  return keepInside<D>(points, fixed, segment.count, [&](std::size_t i) {
    Vec<D> point;
    for (int d = 0; d < D; ++d)
      point[d] = points[d][i];
    return mask.contains(point);
  });
}

template <int D>
void fillFrom(const VoxelLattice<D>& lattice, std::size_t first, std::size_t last, PointBatch<D>& points,
              float* fixed)
{
  const ImageGeometry<D>& geometry = lattice.image->geometry;
  const AffineMap<D> pointFromIndex = geometry.pointFromIndex();
  const float* const voxels = fixed ? hostVoxels<D>(lattice.image).data() : nullptr;
  points.count = 0;
  forEachSegment<D>(lattice, first, last, [&](const RowSegment<D>& segment) {
    const PointsOut<D> out = pointersTo<D>(points.mm, points.count);
    float* const fixedOut = fixed ? fixed + points.count : nullptr;
    writeSegment<D>(pointFromIndex, segment, out);
    const float* const row = voxels + voxelOffset<D>(geometry.size, segment.index);
    for (std::size_t i = 0; fixed && i < segment.count; ++i)
      fixedOut[i] = row[i * segment.step];
    points.count +=
        lattice.mask ? keepInMask<D>(*lattice.mask, geometry, segment, out, fixedOut) : segment.count;
  });
}

template <int D>
void fillFrom(const PointList<D>& list, std::size_t first, std::size_t last, PointBatch<D>& points,
              float* fixed)
{
  points.count = last - first;
  for (int d = 0; d < D; ++d)
    std::copy(list.mm[d].begin() + first, list.mm[d].begin() + last, points.mm[d].begin());
  if (fixed)
    std::copy(list.fixed.begin() + first, list.fixed.begin() + last, fixed);
}

/// The bounding box of a box that is mapped.
template <int D>
Bounds<D> mapped(const AffineMap<D>& map, const Bounds<D>& box)
{
  Bounds<D> bounds;
  for (int corner = 0; corner < (1 << D); ++corner)
    bounds.add(map(box.corner(corner)));
  return bounds;
}

}

template <int D>
void fillBatch(const SampleSet<D>& set, std::size_t first, std::size_t last, PointBatch<D>& points,
               float* fixed)
{
  std::visit([&](const auto& s) { fillFrom<D>(s, first, last, points, fixed); }, set);
}

template <int D>
void fillVoxelPoints(const Size<D>& size, const AffineMap<D>& pointFromIndex, std::size_t first,
                     std::size_t count, PointBatch<D>& points)
{
  points.count = count;
  VoxelLattice<D> all{{}, {}, {}, {}, size};
  all.step.fill(1);
  PointsOut<D> out = points.out();
  forEachSegment<D>(all, first, first + count, [&](const RowSegment<D>& segment) {
    writeSegment<D>(pointFromIndex, segment, out);
    for (double*& axis : out)
      axis += segment.count;
  });
}

template <int D>
PointList<D> allSamples(const SampleSet<D>& set)
{
  PointList<D> list;
  PointBatch<D> batch;
  std::vector<float> fixed(batchCapacity);
  const std::size_t positions = positionCount<D>(set);
  for (std::size_t first = 0; first < positions; first += batchCapacity) {
    fillBatch<D>(set, first, std::min(first + batchCapacity, positions), batch, fixed.data());
    for (int d = 0; d < D; ++d)
      list.mm[d].insert(list.mm[d].end(), batch.mm[d].begin(), batch.mm[d].begin() + batch.count);
    list.fixed.insert(list.fixed.end(), fixed.begin(), fixed.begin() + batch.count);
  }
  return list;
}

namespace {

/// The smallest box that holds all voxels that are `in`; none if there are none.
template <int D, class Voxel, class In>
std::optional<VoxelBox<D>> boxOf(const Size<D>& size, const std::vector<Voxel>& voxels, const In& in)
{
  Size<D> lowest = size, highest{};
  const std::size_t rows = size[0] == 0 ? 0 : voxels.size() / size[0];
  for (std::size_t row = 0; row < rows; ++row) {
    const Voxel *begin = voxels.data() + row * size[0], *end = begin + size[0];
    const Voxel* first = std::find_if(begin, end, in);
    if (first == end)
      continue;
    const auto last =
        std::find_if(std::make_reverse_iterator(end), std::make_reverse_iterator(begin), in).base() - 1;
    lowest[0] = std::min(lowest[0], static_cast<std::size_t>(first - begin));
    highest[0] = std::max(highest[0], static_cast<std::size_t>(last - begin));
    std::size_t rest = row;
    for (int d = 1; d < D; ++d) {
      lowest[d] = std::min(lowest[d], rest % size[d]);
      highest[d] = std::max(highest[d], rest % size[d]);
      rest /= size[d];
    }
  }
  if (lowest == size)
    return {};
  VoxelBox<D> box{lowest, {}};
  for (int d = 0; d < D; ++d)
    box.size[d] = highest[d] - lowest[d] + 1;
  return box;
}

}

template <int D>
VoxelBox<D> boundingBox(const Mask<D>& mask)
{
  const auto found = boxOf<D>(mask.geometry.size, mask.voxels, [](std::uint8_t voxel) { return voxel != 0; });
  if (!found)
    failAs(ExitCode::unreadableInput, "mask", "every voxel is 0: nothing lies inside",
           "a mask with voxels that are not 0");
  return *found;
}

template <int D>
VoxelBox<D> contentBox(const Image<D>& image)
{
  const std::vector<float>& voxels = image.voxels;
  return boxOf<D>(image.geometry.size, voxels, [&](float voxel) { return voxel != voxels.front(); })
      .value_or(wholeBox<D>(image.geometry));
}

template <int D>
VoxelBox<D> regionOfLevel(const ImageGeometry<D>& full, const ImageGeometry<D>& level)
{
  const Matrix<D> pointFromIndex = full.pointFromIndex().matrix, indexFromOffset = level.indexFromOffset();
  const auto indexOfLevel = [&](const Size<D>& voxel) {
    Vec<D> point = full.originMm;
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j)
        point[i] += pointFromIndex[i][j] * static_cast<double>(voxel[j]);
      point[i] -= level.originMm[i];
    }
    return apply<D>(indexFromOffset, point);
  };
  Size<D> lastVoxel = full.size;
  for (std::size_t& axis : lastVoxel)
    axis -= 1;
  const Vec<D> start = indexOfLevel(Size<D>{}), end = indexOfLevel(lastVoxel);
  VoxelBox<D> region;
  for (int d = 0; d < D; ++d) {
    const double most = static_cast<double>(level.size[d]) - 1;
    const double first = std::clamp(std::ceil(start[d]), 0.0, most);
    const double last = std::clamp(std::floor(end[d]), first, most);
    region.first[d] = static_cast<std::size_t>(first);
    region.size[d] = static_cast<std::size_t>(last - first) + 1;
  }
  return region;
}

template <int D>
VoxelBox<D> boxInBox(const ImageGeometry<D>& geometry, const VoxelBox<D>& region,
                     const ImageGeometry<D>& boxed, const VoxelBox<D>& box, double marginVoxels)
{
  const Bounds<D> bounds =
      mapped<D>(geometry.indexFromPoint(), mapped<D>(boxed.pointFromIndex(), sidesOf<D>(box)));
  VoxelBox<D> inside;
  for (int d = 0; d < D; ++d) {
    const double first =
        std::max(static_cast<double>(region.first[d]), std::floor(bounds.low[d] - marginVoxels));
    const double last = std::min(static_cast<double>(region.first[d] + region.size[d]) - 1,
                                 std::ceil(bounds.high[d] + marginVoxels));
    if (!(last >= first))
      throw Error(ExitCode::unreadableInput, "no voxel of the mask lies in the image. Allowed: a mask that "
                                             "overlaps its image in physical space.");
    inside.first[d] = static_cast<std::size_t>(first);
    inside.size[d] = static_cast<std::size_t>(last - first) + 1;
  }
  return inside;
}

template <int D>
VoxelBox<D> boxInMask(const ImageGeometry<D>& geometry, const VoxelBox<D>& region, const Mask<D>* mask)
{
  if (!mask)
    return region;
  // a mask that is not read yet may have every voxel
  const VoxelBox<D> inside = mask->voxels.empty() ? wholeBox<D>(mask->geometry) : boundingBox<D>(*mask);
  return boxInBox<D>(geometry, region, mask->geometry, inside, 0);
}

namespace {

template <int D>
VoxelLattice<D> gridIn(const VoxelBox<D>& box, const Size<D>& step, const ImagePointer<D>& image,
                       const MaskPointer<D>& mask)
{
  VoxelLattice<D> lattice{image, mask, {}, step, {}};
  for (int d = 0; d < D; ++d) {
    lattice.count[d] = (box.size[d] - 1) / step[d] + 1;
    lattice.first[d] = box.first[d] + ((box.size[d] - 1) - (lattice.count[d] - 1) * step[d]) / 2;
  }
  return lattice;
}

}

template <int D>
VoxelLattice<D> gridOfStep(const Size<D>& step, const ImagePointer<D>& image, const VoxelBox<D>& region,
                           const MaskPointer<D>& mask)
{
  return gridIn<D>(boxInMask<D>(image->geometry, region, mask.get()), step, image, mask);
}

template <int D>
VoxelLattice<D> gridOfAbout(std::size_t wanted, const ImagePointer<D>& image, const VoxelBox<D>& region,
                            const MaskPointer<D>& mask)
{
  const VoxelBox<D> box = boxInMask<D>(image->geometry, region, mask.get());
  const double ideal =
      std::pow(static_cast<double>(productOf(box.size)) / static_cast<double>(wanted), 1.0 / D);
  Size<D> step;
  step.fill(static_cast<std::size_t>(std::max(1.0, std::floor(ideal + 0.5))));
  return gridIn<D>(box, step, image, mask);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(fillBatch<D>, fillVoxelPoints<D>, allSamples<D>, contentBox<D>,
                                   boundingBox<D>, boxInBox<D>, regionOfLevel<D>, gridOfStep<D>);
#define TESSERA_INSTANTIATE(D)                                                                               \
  template VoxelBox<D> boxInMask<D>(const ImageGeometry<D>&, const VoxelBox<D>&, const Mask<D>*);            \
  template VoxelLattice<D> gridOfAbout<D>(std::size_t, const ImagePointer<D>&, const VoxelBox<D>&,           \
                                          const MaskPointer<D>&)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
TESSERA_INSTANTIATE(4);
#undef TESSERA_INSTANTIATE

}
