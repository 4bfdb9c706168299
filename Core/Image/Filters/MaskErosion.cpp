#include "Core/Image/Filters/MaskErosion.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::uint8_t outside = 0, inside = 1, toBeTaken = 2;

/// The largest k with k^2 < r^2 + 2.
int reachOf(double radiusVoxels)
{
  const double limit = radiusVoxels * radiusVoxels + 2;
  int reach = 0;
  while (static_cast<double>(reach + 1) * (reach + 1) < limit)
    ++reach;
  return reach;
}

/// Erodes the lines that start at `columns` neighbouring voxels. `stride` is the distance in memory from one
/// voxel of a line to the next.
void erodeColumns(std::uint8_t* voxels, std::size_t columns, std::size_t length, std::size_t stride,
                  int reach, std::vector<int>& passed)
{
  const int far = reach + 1;
  passed.assign(columns, far); // number of voxels since the last one outside, at most `far`
  for (std::size_t i = 0; i < length; ++i) {
    std::uint8_t* const row = voxels + i * stride;
    for (std::size_t x = 0; x < columns; ++x) {
      passed[x] = row[x] == outside ? 0 : std::min(passed[x] + 1, far);
      row[x] = row[x] == inside && passed[x] < far ? toBeTaken : row[x];
    }
  }
  passed.assign(columns, far);
  for (std::size_t i = length; i-- > 0;) {
    std::uint8_t* const row = voxels + i * stride;
    for (std::size_t x = 0; x < columns; ++x) {
      passed[x] = row[x] == outside ? 0 : std::min(passed[x] + 1, far);
      row[x] = row[x] == inside && passed[x] == far ? inside : outside;
    }
  }
}

template <int D>
void erodeAxis(const Context& context, std::vector<std::uint8_t>& voxels, const Size<D>& size, int axis,
               int reach)
{
  constexpr std::size_t columnsPerUnit = 4096, rowsPerChunk = 256;
  std::size_t stride = 1;
  for (int d = 0; d < axis; ++d)
    stride *= size[d];
  const std::size_t slabs = voxels.size() / (stride * size[axis]),
                    unitsPerSlab = (stride + columnsPerUnit - 1) / columnsPerUnit;
  forEachRange(context, slabs * unitsPerSlab, axis == 0 ? rowsPerChunk : 1,
               [&](std::size_t first, std::size_t last) {
                 std::vector<int> passed;
                 for (std::size_t unit = first; unit < last; ++unit) {
                   const std::size_t column = unit % unitsPerSlab * columnsPerUnit;
                   erodeColumns(voxels.data() + unit / unitsPerSlab * stride * size[axis] + column,
                                std::min(columnsPerUnit, stride - column), size[axis], stride, reach, passed);
                 }
               });
}

}

template <int D>
MaskPointer<D> erodeMask(Context& context, const MaskPointer<D>& mask, Vec<D> schedule, ImageSide side)
{
  std::vector<std::uint8_t> voxels(mask->voxels.size());
  std::transform(mask->voxels.begin(), mask->voxels.end(), voxels.begin(),
                 [](std::uint8_t v) { return v == 0 ? outside : inside; });
  for (int axis = 0; axis < D; ++axis) {
    if (schedule[axis] == 0)
      continue;
    const double radiusVoxels = (side == ImageSide::fixed ? schedule[axis] : 2 * schedule[axis]) + 1;
    erodeAxis<D>(context, voxels, mask->geometry.size, axis, reachOf(radiusVoxels));
  }
  return std::make_shared<Mask<D>>(mask->geometry, std::move(voxels));
}

template <int D>
MaskPointer<D> intersectionOf(const MaskPointer<D>& grid, const MaskPointer<D>& mask)
{
  if (!grid || !mask)
    return grid ? grid : mask;
  std::vector<std::uint8_t> voxels = grid->voxels;
  const AffineMap<D> pointFromIndex = grid->geometry.pointFromIndex();
  for (std::size_t v = 0; v < voxels.size(); ++v)
    if (voxels[v])
      voxels[v] = mask->contains(pointFromIndex(indexOfVoxel<D>(grid->geometry.size, v)));
  return std::make_shared<Mask<D>>(grid->geometry, std::move(voxels));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(intersectionOf<D>, erodeMask<D>);

}
